import Glibc
import Synchronization
import Telemetry
import Testing

@testable import Worker

struct GateTests {
    @Test("Nobody enters while it is closed")
    func closed() {
        let gate = Gate()
        let door = gate.makeDoor()
        #expect(!door.enter())
        gate.open()
        #expect(door.enter())
        door.leave()
        gate.close()
        #expect(gate.isClosed && !door.enter())
    }

    @Test("When it has been closed nobody is inside, however many come and go")
    func race() throws {
        let gate = Gate()
        let inside = Atomic<Int>(0)
        let entries = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let threads = try (0..<4).map { _ in
            let door = gate.makeDoor()
            return try Thread(named: "gate") {
                while !isOver.load(ordering: .relaxed) {
                    guard door.enter() else {
                        sched_yield()
                        continue
                    }
                    inside.wrappingAdd(1, ordering: .relaxed)
                    entries.wrappingAdd(1, ordering: .relaxed)
                    inside.wrappingSubtract(1, ordering: .relaxed)
                    door.leave()
                }
            }
        }
        for round in 1...2000 {
            gate.open()
            if round % 10 == 0 { while entries.load(ordering: .relaxed) < round { sched_yield() } }
            gate.close()
            #expect(inside.load(ordering: .sequentiallyConsistent) == 0)
        }
        isOver.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
    }
}
