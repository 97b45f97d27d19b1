import PushmillEngine
import Glibc

/// The program's options.
struct Arguments {
    var seconds = 60
    var seed: UInt64 = 0
    /// The most runs; 0 for as many as time allows.
    var runs = 0
    var jobs = 2
    var fault: PlantedFault?
    /// How many faults each run has, and how many events.
    var faults = 20
    var events = 200
    var showsHistory = false
    var isSelfTest = false
    /// This process runs every seed that is this far from the one before.
    var stride: UInt64 = 1
    var isWorker = false

    static let usage = """
        usage: simulate [--seconds N] [--seed S] [--runs N] [--jobs N] [--faults N] [--events N]
                        [--plant NAME] [--history] [--self-test]
        planted faults: \(PlantedFault.allCases.map(\.rawValue).joined(separator: " "))
        """

    init(_ words: some Sequence<String>) {
        var words = words.makeIterator()
        while let word = words.next() {
            switch word {
            case "--seconds": seconds = Self.number(words.next())
            case "--seed": seed = Self.number(words.next())
            case "--runs": runs = Self.number(words.next())
            case "--jobs": jobs = max(1, Self.number(words.next()))
            case "--faults": faults = Self.number(words.next())
            case "--events": events = max(4, Self.number(words.next()))
            case "--stride": stride = Self.number(words.next())
            case "--plant":
                let name = words.next() ?? ""
                fault = PlantedFault(rawValue: name)
                if fault == nil { Self.fail("no planted fault is called \"\(name)\"\n" + Self.usage) }
            case "--history": showsHistory = true
            case "--self-test": isSelfTest = true
            case "--worker": isWorker = true
            default: Self.fail()
            }
        }
        if fault != nil || isSelfTest {
            #if !PLANTED_FAULTS
                Self.fail("this build has no planted faults: build it with PUSHMILL_SIMULATION=1")
            #endif
        }
    }

    private static func number<Number: FixedWidthInteger>(_ text: String?) -> Number {
        guard let number = text.flatMap({ Number($0) }) else { fail() }
        return number
    }

    private static func fail(_ reason: String = usage) -> Never {
        say(reason + "\n", to: 2)
        exit(64)
    }
}

func tell(_ line: String) { say(line + "\n") }

/// Writes without buffering: the reader follows the run that is under way.
func say(_ text: String, to descriptor: Int32 = 1) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            guard count > 0 else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

/// A monotonic clock, in seconds.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
