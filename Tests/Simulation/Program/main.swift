import Engine
import Glibc
import Simulation

let arguments = Arguments(CommandLine.arguments.dropFirst())
exit(arguments.isWorker ? Worker(arguments).work() : Search(arguments).search())
