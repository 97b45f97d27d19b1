import Pushmill

await Program.main(stages: [ProfileStage.entry])
