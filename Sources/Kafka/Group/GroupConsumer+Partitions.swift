internal import CPushmillRdKafka

/// Which partitions are read, and where. librdkafka's list of what is read is not the group's: a member owns what it was
/// given (`rkcg_group_assignment`) whether it reads it or not.
extension GroupConsumer {
    /// Answers `ConsumerEvent.assigned`: nothing is read of them before `read`.
    package func acceptAssignment() throws(KafkaError) {
        if exchange(&sinks.group.rejoins, with: false) { sinks.joins.expect(since: JoinWatch.now) }
        try client.assign([])
        sinks.group.isAssigning = client.isFatal
        owners?.begin()
    }

    /// Reads partitions that were assigned from these very offsets, at any time after `acceptAssignment`.
    package func read(_ positions: [Position]) throws(KafkaError) {
        // Reading would make librdkafka forget that all is lost (`rd_kafka_cgrp_assignment_clear_lost`); that event comes.
        guard rd_kafka_assignment_lost(client.handle) == 0 else { return }
        for position in positions where stopping.contains(position.partition) {
            starting[position.partition] = position
        }
        let fresh = positions.filter { !reading.contains($0.partition) }
        guard !fresh.isEmpty else { return }
        for position in fresh { forward(position.partition) }
        try client.assign(fresh)
        reading.formUnion(fresh.lazy.map(\.partition))
    }

    /// Nothing of them is read any more. Answers `revoked` and `lost` when all that were named there are given back.
    package func giveBack(_ partitions: [TopicPartition]) throws(KafkaError) {
        committedOffsets.forget(partitions)
        ranges.forget(partitions)
        stopping.subtract(partitions)
        for partition in partitions { starting[partition] = nil }
        guard let revoked = sinks.group.revoked else { return try stop(partitions) }
        let left = revoked.subtracting(partitions)
        guard left.isEmpty else {
            sinks.group.revoked = left
            given.formUnion(partitions)
            return
        }
        sinks.group.revoked = nil
        sinks.group.isRevocationLost = false
        let all = exchange(&given, with: []).union(partitions)
        // librdkafka refuses the whole list for one that it was not told to read (`rd_kafka_assignment_subtract`), and
        // takes an empty one for an answer.
        try unassign(all.intersection(reading))
        try catchUp()
    }

    /// Reads on from there; what was fetched is dropped. False when that is not certain: to be asked for again.
    package func seek(to position: Position) -> Bool {
        guard reading.contains(position.partition), !stopping.contains(position.partition) else { return false }
        let list = PartitionList([position])
        // A bound of 500 ms: `rd_kafka_seek_partitions` takes what is left in milliseconds for microseconds.
        if let error = rd_kafka_seek_partitions(client.handle, list.pointer, 500 * 1000) {
            rd_kafka_error_destroy(error)
            return false
        }
        switch list.pointer.pointee.elems[0].err {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return true
        // The partition stands still, since it was out of its log or has not begun (`RD_KAFKA_TOPPAR_FETCH_NONE`).
        case RD_KAFKA_RESP_ERR__STATE: return begin(anew: position)
        default: return false
        }
    }

    private func begin(anew position: Position) -> Bool {
        pollEvents()
        // To take it away now would answer the revocation.
        guard sinks.group.revoked == nil else { return false }
        do {
            try stop([position.partition])
            try read([position])
            return reading.contains(position.partition)
        } catch {
            return false
        }
    }

    /// Reads nothing of it before the next `read`.
    package func stop(_ partition: TopicPartition) throws(KafkaError) {
        pollEvents()
        if sinks.group.revoked == nil {
            try stop([partition])
        } else if reading.contains(partition) {
            // To take it away now would answer the revocation.
            stopping.insert(partition)
            starting[partition] = nil
        }
    }

    /// What had to wait for the answer to a revocation.
    private func catchUp() throws(KafkaError) {
        guard !stopping.isEmpty else { return }
        let (stopped, started) = (stopping, starting)
        (stopping, starting) = ([], [:])
        try stop(Array(stopped))
        try read(Array(started.values))
    }

    /// Takes partitions away outside of a revocation.
    private func stop(_ partitions: [TopicPartition]) throws(KafkaError) {
        let read = reading.intersection(partitions)
        guard !read.isEmpty else { return }
        try unassign(read)
        pollEvents()
        guard sinks.group.revoked != nil, !sinks.group.isRevocationLost else { return }
        // A revocation that came meanwhile may have been answered by that: others may own what it names.
        sinks.group.isRevocationLost = true
        sinks.group.events = sinks.group.events.map {
            guard case .revoked(let all) = $0 else { return $0 }
            return .lost(all)
        }
    }

    /// librdkafka forgets where a partition's records are to go when it stops to read it (`rd_kafka_toppar_fetch_stop`),
    /// so it must have stopped.
    private func forward(_ partition: TopicPartition) {
        guard let queue = rd_kafka_queue_get_partition(client.handle, partition.topic, partition.partition) else {
            return
        }
        rd_kafka_queue_forward(queue, records)
        rd_kafka_queue_destroy(queue)
    }

    private func unassign(_ partitions: Set<TopicPartition>) throws(KafkaError) {
        try client.unassign(Array(partitions))
        reading.subtract(partitions)
    }
}

extension Client {
    /// Reads these, too.
    func assign(_ positions: [Position]) throws(KafkaError) {
        let list = PartitionList(positions)
        if let error = rd_kafka_incremental_assign(handle, list.pointer) { throw KafkaError(consuming: error) }
    }

    /// Reads these no more.
    func unassign(_ partitions: [TopicPartition]) throws(KafkaError) {
        let list = PartitionList(partitions)
        if let error = rd_kafka_incremental_unassign(handle, list.pointer) { throw KafkaError(consuming: error) }
        if !partitions.isEmpty { awaitStops() }
    }

    /// librdkafka 2.0.2 ends the process (`rd_kafka_assignment_partition_stopped`) where a partition is taken away again
    /// before it has stopped for the first time. Who asks twice is answered when that is over.
    func awaitStops() {
        for _ in 0..<2 {
            var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            rd_kafka_assignment(handle, &list)
            if let list { rd_kafka_topic_partition_list_destroy(list) }
        }
    }
}
