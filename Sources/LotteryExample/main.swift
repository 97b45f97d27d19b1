import Push
import Pushmill

await Program.main(stages: [StageEntry("lottery", read: LotteryStage.read)])
