import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Instants")
struct TimeTests {
    @Test(
        "A duration becomes whole nanoseconds, at least 0 and at most what 64 bits hold",
        arguments: [
            (.zero, 0), (.nanoseconds(1), 1), (.seconds(1), 1_000_000_000), (.milliseconds(1500), 1_500_000_000),
            (.nanoseconds(-1), 0), (.seconds(-1), 0), (.seconds(18_446_744_073), 18_446_744_073_000_000_000),
            (.seconds(18_446_744_073) + .nanoseconds(709_551_615), .max),
            (.seconds(18_446_744_073) + .nanoseconds(709_551_616), .max), (.seconds(18_446_744_074), .max),
            (.seconds(Int64.max), .max), (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
        ] as [(Duration, UInt64)])
    func nanoseconds(_ duration: Duration, _ nanoseconds: UInt64) {
        expect(duration.wholeNanoseconds, is: nanoseconds)
    }

    @Test("No sum is later than never, and no difference is negative")
    func arithmetic() {
        let early = Instant(nanoseconds: 5)
        let late = early + .nanoseconds(7)
        expect(late, is: Instant(nanoseconds: 12))
        #expect(late.nanoseconds(since: early) == 7 && early.nanoseconds(since: late) == 0)
        expect(late.nanoseconds(since: late), is: 0)
        expect(early + .nanoseconds(-3), is: early)
        #expect(Instant.never + .nanoseconds(1) == .never && early.advanced(nanoseconds: .max) == .never)
        expect(early.advanced(nanoseconds: .max - 5), is: .never)
        #expect(early.advanced(nanoseconds: .max - 6) < .never)
        #expect(.past < early && early < late && !(early < early))
    }

    @Test("The system's clock never goes back, and a manual clock only advances on request")
    func clocks() {
        let before = TimeSource.system.now
        #expect(TimeSource.system.now >= before && before > .past)
        let time = ManualTime(Instant(nanoseconds: 3))
        let source = TimeSource.manual(time)
        expect(source.now, is: Instant(nanoseconds: 3))
        time.advance(by: .nanoseconds(4))
        time.advance(by: .nanoseconds(-4))
        expect(source.now, is: Instant(nanoseconds: 7))
    }
}
