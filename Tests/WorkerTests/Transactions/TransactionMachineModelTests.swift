import Glibc
import TestSupport
import Testing

@testable import Worker

struct TransactionMachineModelTests {
    private final class World {
        var brokers = SimulatedBrokers()
        var random: SeededGenerator
        var instances: [SimulatedInstance] = [SimulatedInstance(name: 0), SimulatedInstance(name: 1)]
        var zombies: [SimulatedInstance] = []
        var commits = 0
        var aborts = 0
        var fenced = 0

        init(seed: Int) { random = SeededGenerator(seed: UInt64(seed)) }

        func step() {
            let name = Int.random(in: 0..<2, using: &random)
            let instance = instances[name]
            switch Int.random(in: 0..<100, using: &random) {
            case 0:
                // It may go on for a while beside the one that takes its place.
                zombies.append(instance)
                instances[name] = SimulatedInstance(name: name)
            case 1: brokers.rebalance(to: Int.random(in: 0..<2, using: &random))
            case 2..<7: learn(instance)
            case 7: instance.want(instance.machine.abortWanted())
            case 8..<15: instance.want(instance.machine.commitWanted())
            case 15..<55: publish(by: instance)
            case 55..<60: haunt()
            default: perform(instance)
            }
        }

        private func haunt() {
            guard let zombie = zombies.randomElement(using: &random) else { return }
            publish(by: zombie)
            zombie.want(zombie.machine.commitWanted())
            perform(zombie)
            zombies.removeAll { $0.action == .leave }
        }

        /// It is told of a rebalance, perhaps long after.
        private func learn(_ instance: SimulatedInstance) {
            guard instance.generation != brokers.generation else { return }
            let isServing = instance.generation != nil
            instance.generation = nil
            if isServing {
                instance.hasLost = true
                instance.want(instance.machine.abortWanted())
            }
            guard brokers.owner == instance.name, instance.machine.isOpen else { return }
            instance.generation = brokers.generation
            (instance.next, instance.badge) = (brokers.offset, brokers.badge)
        }

        private func publish(by instance: SimulatedInstance) {
            guard instance.machine.isOpen, instance.generation != nil else { return }
            brokers.publish(instance.next, instance.name, epoch: instance.epoch)
            instance.next += 1
            instance.badge += 1
        }

        private func perform(_ instance: SimulatedInstance) {
            guard instance.action != .none, instance.action != .leave else {
                if instance.action == .leave, instances[instance.name] === instance {
                    instances[instance.name] = SimulatedInstance(name: instance.name)
                }
                return
            }
            switch Int.random(in: 0..<20, using: &random) {
            case 0: return instance.then(instance.machine.failed(.retriable))
            case 1 where instance.action == .commit: return instance.then(instance.machine.failed(.abortable))
            default: break
            }
            switch answer(to: instance) {
            case .done: instance.then(instance.machine.succeeded())
            case .abortable: instance.then(instance.machine.failed(.abortable))
            case .fenced:
                fenced += 1
                instance.then(instance.machine.failed(.fatal))
            }
        }

        private func answer(to instance: SimulatedInstance) -> SimulatedBrokers.Answer {
            let (name, epoch) = (instance.name, instance.epoch)
            switch instance.action {
            case .initialize: instance.epoch = brokers.initialize(name)
            case .begin:
                instance.hasLost = false
                return brokers.begin(name, epoch: epoch)
            case .commit:
                guard !instance.hasLost else { return .abortable }
                if let generation = instance.generation {
                    let added = brokers.add(
                        badge: instance.badge, offset: instance.next, name, epoch: epoch, generation: generation)
                    guard added == .done else { return added }
                }
                commits += 1
                return brokers.commit(name, epoch: epoch)
            case .abort:
                aborts += 1
                return brokers.abort(name, epoch: epoch)
            case .rewind:
                if instance.generation == brokers.generation {
                    (instance.next, instance.badge) = (brokers.offset, brokers.badge)
                } else {
                    instance.generation = nil
                }
            case .close, .fence, .none, .leave: break
            }
            return .done
        }
    }

    /// A sequence is what may happen to two instances and those that have taken their places from the first start on:
    /// so many events, of which each may be a rebalance, the news of it, a crash, a zombie's doing, an output, a wish to
    /// commit or to abort, or a step of a transaction with any answer.
    private static let events = 32
    /// A million of them with `PUSHMILL_TEST_SEQUENCES=1000000`; a tenth unless told otherwise.
    private static let sequences =
        getenv("PUSHMILL_TEST_SEQUENCES").flatMap { Int(String(cString: $0)) } ?? 100_000

    @Test("In every sequence of events committed outputs, badges and offsets agree at each moment", arguments: 0..<8)
    func sequences(part: Int) throws {
        var (commits, aborts, fenced) = (0, 0, 0)
        for number in 0..<Self.sequences / 8 {
            let world = World(seed: part << 32 | number)
            for _ in 0..<Self.events {
                world.step()
                try expectAgreement(world, "sequence \(part << 32 | number)")
            }
            commits += world.commits
            aborts += world.aborts
            fenced += world.fenced
        }
        #expect(commits > 1000 && aborts > 100 && fenced > 10)
    }

    @Test("In one long life they agree too, and none is missing", arguments: 0..<8)
    func longLife(seed: Int) throws {
        let world = World(seed: seed)
        for _ in 0..<50_000 {
            world.step()
            try expectAgreement(world, "life \(seed)")
        }
        #expect(world.brokers.outputs == Array(0..<world.brokers.offset))
        #expect(world.commits > 400 && world.aborts > 40 && world.fenced > 40 && world.brokers.offset > 400)
    }

    private func expectAgreement(_ world: World, _ name: @autoclosure () -> String) throws {
        let brokers = world.brokers
        guard brokers.outputs.count == brokers.offset, brokers.badge == brokers.offset,
            brokers.outputs.last.map({ $0 == brokers.offset - 1 }) ?? true
        else {
            Issue.record("\(name()): \(brokers.outputs.suffix(5)), badge \(brokers.badge), offset \(brokers.offset)")
            throw Disagreement()
        }
    }

    private struct Disagreement: Error {}
}
