import PushmillKafka
import PushmillSimulation

/// The simulated cluster, called without connections.
struct SimulatedClusterUnderTest: ClusterUnderTest {
    private final class Client: GroupClient {
        var isReachable = true
        var id: Int?
        var generation = -1
        func heartbeatSoon() {}
    }

    private struct Open {
        let name: String
        var producer: Int32
        var epoch: Int16
        var sequence: Int32 = 0
        var hasWritten = false
    }

    private let cluster: Cluster
    private let timeline: Timeline
    private var producers: [String: Open] = [:]
    private var members: [(name: String, instance: String?, client: Client)] = []
    private var plain: Int32
    private var plainSequence: Int32 = 0

    init() {
        timeline = Timeline(dice: Dice(seed: 1))
        cluster = Cluster(timeline: timeline, topics: ["t"], partitions: 1, inputs: 1, timing: GroupTiming())
        plain = cluster.newProducer()
    }

    private var log: PartitionLog { cluster.logs[0][0] }
    private var partition: TopicPartition { cluster.partitions[0][0] }

    private func pass(_ time: UInt64) { timeline.run(until: timeline.now + time) }

    mutating func play(_ step: ClusterStep) -> String? {
        switch step {
        case .open(let producer, let name): open(producer, name)
        case .begin(let producer): producers[producer]?.hasWritten = false
        case .send(let producer, let values, let expected): return send(producer, values, 0, expected)
        case .sendFromFuture(let producer, let values, let expected):
            return send(producer, values, cluster.wallClock + 3 * 3_600_000, expected)
        case .addOffset(let producer, let member, let offset, let expected):
            return compare(addOffset(producer, member, offset), expected)
        case .commit(let producer, let expected): return compare(end(producer, commits: true), expected)
        case .abort(let producer, let expected): return compare(end(producer, commits: false), expected)
        case .waitForTransactionTimeout: pass(cluster.transactions.timeout + .seconds(1))
        case .join(let member, let instance): return join(member, instance)
        case .commitOffset(let member, let offset, let expected):
            return compare(commitOffset(member, offset), expected)
        case .vanish(let member): vanish(member)
        case .leave(let member): leave(member)
        case .compact: log.compact(minLag: 0)
        case .expectCommitted(let values): return compare(log.read(from: 0, limit: 100).records.map(text), values)
        case .expectAll(let values): return compare(log.entries.filter(isData).map(text), values)
        case .expectOffset(let offset):
            return compare(cluster.group.committed([partition])?[0].offset, offset ?? Position.none)
        case .expectOffsetPending: return compare(cluster.group.committed([partition]) == nil, true)
        }
        return nil
    }

    private func compare<Value: Equatable>(_ value: Value, _ expected: Value) -> String? {
        value == expected ? nil : "\(value) instead of \(expected)"
    }

    // MARK: Records

    private func isData(_ entry: PartitionLog.Entry) -> Bool {
        if case .marker = entry.content { false } else { true }
    }

    private func text(_ entry: PartitionLog.Entry) -> String {
        guard case .change(let key, let value) = entry.content else { return "" }
        return String(decoding: key, as: UTF8.self) + ":" + String(decoding: value ?? [], as: UTF8.self)
    }

    private mutating func send(
        _ producer: String?, _ values: [String], _ timestamp: Int64, _ expected: ClusterAnswer
    ) -> String? {
        let records = values.map { value in
            let parts = value.split(separator: ":")
            return NewRecord(.change(key: Array(parts[0].utf8), value: Array(parts[1].utf8)), timestamp: timestamp)
        }
        let answer: AppendAnswer
        if let producer, let open = producers[producer] {
            producers[producer]?.hasWritten = true
            guard cluster.transactions.add(log, to: open.name, epoch: open.epoch) == .done else {
                return compare(.fenced, expected)
            }
            let batch = Batch(records, producer: open.producer, epoch: open.epoch, sequence: open.sequence)
            answer = cluster.transactions.append(batch, to: log, of: open.name)
            if case .stored = answer { producers[producer]?.sequence += Int32(values.count) }
        } else {
            answer = log.append(Batch(records, producer: plain, sequence: plainSequence))
            if case .stored = answer { plainSequence += Int32(values.count) }
        }
        pass(.milliseconds(1))
        switch answer {
        case .stored: return compare(.done, expected)
        case .refused(.fenced): return compare(.fenced, expected)
        case .refused: return compare(.refused, expected)
        }
    }

    // MARK: Transactions

    private mutating func open(_ producer: String, _ name: String) {
        while true {
            if case .ready(let id, let epoch) = cluster.transactions.initialize(name) {
                producers[producer] = Open(name: name, producer: id, epoch: epoch)
                return
            }
            pass(.milliseconds(10))
        }
    }

    private mutating func end(_ producer: String, commits: Bool) -> ClusterAnswer {
        guard let open = producers[producer] else { return .refused }
        guard open.hasWritten else { return .done }
        let answer = cluster.transactions.end(open.name, epoch: open.epoch, commits: commits)
        pass(.milliseconds(20))
        return answer == .done ? .done : answer == .fenced ? .fenced : .refused
    }

    private mutating func addOffset(_ producer: String, _ member: String, _ offset: Int64) -> ClusterAnswer {
        guard let open = producers[producer], let client = client(member) else { return .refused }
        producers[producer]?.hasWritten = true
        guard cluster.transactions.addOffsets(to: open.name, epoch: open.epoch) == .done else { return .fenced }
        return answer(
            cluster.group.commit(
                [Position(partition, offset: offset)], member: client.id ?? -1, generation: client.generation,
                transaction: cluster.transactions.transaction(of: open.name)))
    }

    // MARK: The group

    private func client(_ member: String) -> Client? { members.last { $0.name == member }?.client }

    private func answer(_ answer: GroupCoordinator.CommitAnswer) -> ClusterAnswer {
        switch answer {
        case .accepted: .done
        case .denied, .refused(.accepted): .refused
        case .refused(.illegalGeneration), .refused(.rebalance): .illegalGeneration
        case .refused(.unknownMember): .unknownMember
        case .refused(.fenced): .fenced
        }
    }

    private func commitOffset(_ member: String, _ offset: Int64) -> ClusterAnswer {
        guard let client = client(member) else { return .refused }
        return answer(
            cluster.group.commit(
                [Position(partition, offset: offset)], member: client.id ?? -1, generation: client.generation))
    }

    private mutating func join(_ member: String, _ instance: String?) -> String? {
        if client(member) == nil { members.append((member, instance, Client())) }
        // A static name has one owner, and a member that was replaced does not rejoin.
        let isReplaced = { [members] (other: (name: String, instance: String?, client: Client)) in
            other.name != member && other.instance != nil && other.instance == members.last?.instance
        }
        // The new member joins first: the others rejoin at their next heartbeat.
        let known = members.filter { $0.client.id != nil }
        for other in members.filter({ $0.client.id == nil }) + known
        where other.client.isReachable && !isReplaced(other) {
            cluster.group.join(
                other.client.id, instance: other.instance, owned: [], ownedGeneration: -1, client: other.client
            ) { answer in
                guard case .joined(let id, let generation, _) = answer else { return }
                other.client.id = id
                other.client.generation = generation
            }
        }
        pass(.seconds(1))
        for other in members where other.client.isReachable {
            guard let id = other.client.id else { continue }
            cluster.group.sync(id, generation: other.client.generation) { _ in }
        }
        return compare(cluster.group.state, .stable)
    }

    private func vanish(_ member: String) {
        guard let client = client(member) else { return }
        client.isReachable = false
        cluster.group.reachabilityChanged(of: client)
        pass(.seconds(4))
    }

    private mutating func leave(_ member: String) {
        guard let client = client(member), let id = client.id else { return }
        cluster.group.leave(id)
        members.removeAll { $0.name == member }
    }
}
