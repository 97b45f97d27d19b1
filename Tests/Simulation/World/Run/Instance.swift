import PushmillEngine
import PushmillKafka
import PushmillStages
import PushmillStores

/// One shard of one process, and when its next turn is due.
final class ShardHost {
    let ports: SimulatedPorts
    let node: Node
    var shard: Shard<SimulatedPorts>?
    var isInTurn = false
    var hasEnded = false
    /// When the next turn is due. A new `plan` voids an earlier one.
    var planned: UInt64 = .max
    var plan = 0
    /// The end of the last turn, by the time that it took.
    var busyUntil: UInt64 = 0
    var turns = 0

    init(_ ports: SimulatedPorts, settings: ShardSettings) {
        self.ports = ports
        node = ports.node
        shard = Shard(settings, ports: ports)
    }

    func letGo() {
        shard = nil
        ports.letGo()
    }
}

/// A process with its shards, and the state folder that outlives it.
final class Instance {
    let index: Int
    /// The base of its static member names and transactional IDs.
    var identity: Int
    var shards: Int
    var node: Node
    var hosts: [ShardHost] = []
    var clockError: Int64 = 0
    /// The process was told to end, and will be started again.
    var isRestarting = false
    /// The version of the formats that it writes for other instances.
    var formatVersion = FormatVersion.current
    /// Indexed by topic and partition.
    private var files: [[DiskFile]] = []
    private var dice: Dice
    private var isDiskSlow = true

    init(index: Int, shards: Int, cluster: Cluster, seed: UInt64) {
        self.index = index
        identity = index
        self.shards = shards
        node = Node(cluster: cluster, number: index * 10)
        dice = Dice(seed: seed ^ 0xd15c_0000 &+ UInt64(index))
        loseDisk(cluster)
    }

    func loseDisk(_ cluster: Cluster) {
        files = cluster.logs.prefix(Topics.inputs).enumerated().map { topic, logs in
            logs.indices.map {
                DiskFile(number: UInt64(topic << 16 + $0), dice: dice.fork(), isSlow: isDiskSlow)
            }
        }
    }

    /// Switches to the other release, which cannot use the state files of this one.
    func changeRelease(_ cluster: Cluster) {
        formatVersion = formatVersion == .current ? .next : .current
        loseDisk(cluster)
    }

    func losePower(_ dice: inout Dice) { for topic in files { for file in topic { file.losePower(&dice) } } }

    func failDisk() { for topic in files { for file in topic { file.failures = 2 } } }

    func healDisk() {
        isDiskSlow = false
        for topic in files { for file in topic { file.isSlow = false } }
    }

    func file(_ partition: TopicPartition) -> DiskFile {
        let topic = Topics.names.firstIndex(of: partition.topic) ?? 0
        return files[topic][Int(partition.partition)]
    }
}
