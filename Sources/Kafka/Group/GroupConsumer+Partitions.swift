internal import CPushmillRdKafka

/// Which partitions are read, and from where. What librdkafka reads is not what the group has assigned: a member owns
/// its assignment (`rkcg_group_assignment`) whether it reads it or not.
extension GroupConsumer {
    /// Answers `ConsumerEvent.assigned`. The partitions are not read until `read`.
    package func acceptAssignment() throws(KafkaError) {
        if exchange(&sinks.group.rejoins, with: false) { sinks.joins.expect(since: JoinWatch.now) }
        try client.assign([])
        sinks.group.isAssigning = client.isFatal
        owners?.begin()
    }

    /// Reads assigned partitions from exactly these offsets, at any time after `acceptAssignment`.
    package func read(_ positions: [Position]) throws(KafkaError) {
        // Reading would make librdkafka forget the loss (`rd_kafka_cgrp_assignment_clear_lost`); its event follows.
        guard rd_kafka_assignment_lost(client.handle) == 0 else { return }
        for position in positions where deferredStops.contains(position.partition) {
            deferredReads[position.partition] = position
        }
        let fresh = positions.filter { !reading.contains($0.partition) }
        guard !fresh.isEmpty else { return }
        for position in fresh { forward(position.partition) }
        try client.assign(fresh)
        reading.formUnion(fresh.lazy.map(\.partition))
    }

    /// Stops reading them. Answers `revoked` or `lost` once all partitions of that event are given back.
    package func giveBack(_ partitions: [TopicPartition]) throws(KafkaError) {
        commits.forget(where: partitions.contains)
        ranges.forget(where: partitions.contains)
        lookup.forget { partitions.contains($0.partition) }
        deferredStops.subtract(partitions)
        for partition in partitions { deferredReads[partition] = nil }
        guard let revoked = sinks.group.revoked else { return try stop(partitions) }
        let left = revoked.subtracting(partitions)
        guard left.isEmpty else {
            sinks.group.revoked = left
            givenBack.formUnion(partitions)
            return
        }
        sinks.group.revoked = nil
        sinks.group.isRevocationLost = false
        let all = exchange(&givenBack, with: []).union(partitions)
        // librdkafka refuses the whole list if it was not told to read one of them (`rd_kafka_assignment_subtract`),
        // and accepts an empty list as an answer.
        try unassign(all.intersection(reading))
        try catchUp()
    }

    /// Continues from there; what was fetched is dropped. False if that is uncertain: the caller must try again.
    package func seek(to position: Position) -> Bool {
        guard reading.contains(position.partition), !deferredStops.contains(position.partition) else { return false }
        let list = PartitionList([position])
        // A bound of 500 ms: `rd_kafka_seek_partitions` treats the remaining milliseconds as microseconds.
        if let error = rd_kafka_seek_partitions(client.handle, list.pointer, 500 * 1000) {
            rd_kafka_error_destroy(error)
            return false
        }
        switch list.pointer.pointee.elems[0].err {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return true
        // The partition is not fetched: it was out of its log or has not begun (`RD_KAFKA_TOPPAR_FETCH_NONE`).
        case RD_KAFKA_RESP_ERR__STATE: return begin(anew: position)
        default: return false
        }
    }

    private func begin(anew position: Position) -> Bool {
        pollEvents()
        // Unassigning the partition now would answer the revocation.
        guard sinks.group.revoked == nil else { return false }
        do {
            try stop([position.partition])
            try read([position])
            return reading.contains(position.partition)
        } catch {
            return false
        }
    }

    /// Stops reading the partition until the next `read`.
    package func stop(_ partition: TopicPartition) throws(KafkaError) {
        pollEvents()
        if sinks.group.revoked == nil {
            try stop([partition])
        } else if reading.contains(partition) {
            // Unassigning it now would answer the revocation.
            deferredStops.insert(partition)
            deferredReads[partition] = nil
        }
    }

    /// Does what had to wait until the revocation was answered.
    private func catchUp() throws(KafkaError) {
        guard !deferredStops.isEmpty else { return }
        let (stopped, started) = (deferredStops, deferredReads)
        (deferredStops, deferredReads) = ([], [:])
        try stop(Array(stopped))
        try read(Array(started.values))
    }

    /// Unassigns partitions while no revocation is unanswered.
    private func stop(_ partitions: [TopicPartition]) throws(KafkaError) {
        let read = reading.intersection(partitions)
        guard !read.isEmpty else { return }
        try unassign(read)
        pollEvents()
        guard sinks.group.revoked != nil, !sinks.group.isRevocationLost else { return }
        // This may have answered a revocation that came meanwhile: other members may own its partitions.
        sinks.group.isRevocationLost = true
        sinks.group.events = sinks.group.events.map {
            guard case .revoked(let all) = $0 else { return $0 }
            return .lost(all)
        }
    }

    /// The partition must have stopped: librdkafka drops its forwarding when it stops fetching it
    /// (`rd_kafka_toppar_fetch_stop`).
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
    /// Reads these as well.
    func assign(_ positions: [Position]) throws(KafkaError) {
        let list = PartitionList(positions)
        if let error = rd_kafka_incremental_assign(handle, list.pointer) { throw KafkaError(consuming: error) }
    }

    /// Stops reading these.
    func unassign(_ partitions: [TopicPartition]) throws(KafkaError) {
        let list = PartitionList(partitions)
        if let error = rd_kafka_incremental_unassign(handle, list.pointer) { throw KafkaError(consuming: error) }
        if !partitions.isEmpty { awaitStops() }
    }

    /// librdkafka 2.0.2 aborts the process (`rd_kafka_assignment_partition_stopped`) if a partition is unassigned again
    /// before its first stop is complete. The second of two queries is answered after that.
    func awaitStops() {
        for _ in 0..<2 {
            var list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
            rd_kafka_assignment(handle, &list)
            if let list { rd_kafka_topic_partition_list_destroy(list) }
        }
    }
}
