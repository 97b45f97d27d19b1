import PushmillEngine
import Glibc
import PushmillSimulation

let arguments = Arguments(CommandLine.arguments.dropFirst())
exit(arguments.isWorker ? Worker(arguments).work() : Search(arguments).search())
