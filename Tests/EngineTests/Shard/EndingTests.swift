import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("The phases of shutdown")
struct EndingTests {
    private let start = Instant.past + .seconds(100)

    @Test("Before shutdown begins there is no deadline")
    func running() {
        let ending = Ending(grace: .seconds(20))
        #expect(ending.isRunning)
        #expect(!ending.hasEnded)
        expect(ending.deadline, is: .never)
    }

    @Test("Four fifths of the grace are for work, the rest for answers and the last commit")
    func shares() {
        var ending = Ending(grace: .seconds(20))
        ending.begin(start)
        #expect(!ending.isRunning)
        expect(ending.deadline, is: start + .seconds(16))
        expect(ending.answeringEnd, is: start + .seconds(18))
        expect(ending.committingEnd, is: start + .seconds(19))
        expect(ending.end, is: start + .seconds(20))
    }

    @Test("Each phase has its own deadline, and leaving has that of the grace")
    func deadlines() {
        var ending = Ending(grace: .seconds(20))
        ending.begin(start)
        ending.phase = .answering(until: ending.answeringEnd)
        expect(ending.deadline, is: start + .seconds(18))
        ending.phase = .committing(3, until: ending.committingEnd)
        expect(ending.deadline, is: start + .seconds(19))
        ending.phase = .joining(until: start + .seconds(5))
        expect(ending.deadline, is: start + .seconds(5))
        ending.phase = .leaving
        expect(ending.deadline, is: start + .seconds(20))
        ending.phase = .ended
        expect(ending.deadline, is: .never)
        #expect(ending.hasEnded)
    }

    @Test("A second signal leaves at most two seconds, and never more than the grace does")
    func hurry() {
        var ending = Ending(grace: .seconds(20))
        ending.begin(start)
        ending.hurry(start + .seconds(1))
        expect(ending.phase, is: .leaving)
        expect(ending.deadline, is: start + .seconds(3))
        var late = Ending(grace: .seconds(20))
        late.begin(start)
        late.hurry(start + .seconds(19))
        expect(late.deadline, is: start + .seconds(20))
    }

    @Test("A partition that is revoked during shutdown has the rest of the phase")
    func left() {
        var ending = Ending(grace: .seconds(20))
        ending.begin(start)
        expect(ending.left(start + .seconds(6)), is: .seconds(10))
        expect(ending.left(start + .seconds(60)), is: .zero)
    }
}
