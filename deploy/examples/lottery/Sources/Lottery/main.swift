import Pushmill

await Program.main(stages: [LotteryStage.entry])
