import Push
import Testing

@testable import Worker

@Suite struct LaneWatchTests {
    @Test("A lane is busy from when its thread takes something up until it is done with it")
    func busy() {
        let watch = LaneWatch()
        let start = Instant(nanoseconds: 1_000_000_000)
        #expect(watch.busy(start + .seconds(60)) == .zero)
        watch.begin(start)
        #expect(watch.busy(start + .seconds(11)) == .seconds(11))
        watch.end()
        #expect(watch.busy(start + .seconds(60)) == .zero)
    }
}
