import Pushmill

await Program.main()
