internal import CPushmillRdKafka

/// Transactions, for a producer with a `transactional.id`. Each call blocks up to its time-out, so they are for one
/// thread that may; delivery reports are to be polled by another meanwhile. An error that `isRetriable` asks for the same
/// call again; one that `requiresAbort` for `abortTransaction`; one that `isFatal` ends this producer.
extension Producer {
    /// Fences any other producer of the same name, and ends what that has left open. Once, before the first transaction.
    public func initTransactions(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_init_transactions(client.handle, milliseconds))
    }

    public func beginTransaction() throws(KafkaError) { try check(rd_kafka_begin_transaction(client.handle)) }

    /// Makes the group's commit of these positions, with their metadata, part of the transaction.
    public func sendOffsets(_ positions: [Position], of group: GroupMetadata, milliseconds: Int32) throws(KafkaError) {
        let list = PartitionList(positions)
        try check(rd_kafka_send_offsets_to_transaction(client.handle, list.pointer, group.handle, milliseconds))
    }

    /// Sends what is queued, then commits.
    public func commitTransaction(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_commit_transaction(client.handle, milliseconds))
    }

    public func abortTransaction(milliseconds: Int32) throws(KafkaError) {
        try check(rd_kafka_abort_transaction(client.handle, milliseconds))
    }

    private func check(_ error: OpaquePointer?) throws(KafkaError) {
        if let error { throw KafkaError(consuming: error) }
    }
}

/// Who a consumer is in its group at one moment. To be asked for anew for each transaction: a stale one is how brokers
/// know that a member is no longer one.
public final class GroupMetadata: Sendable {
    nonisolated(unsafe) let handle: OpaquePointer

    init?(_ handle: OpaquePointer?) {
        guard let handle else { return nil }
        self.handle = handle
    }

    deinit { rd_kafka_consumer_group_metadata_destroy(handle) }

    /// librdkafka's own form of it.
    fileprivate var bytes: [UInt8] {
        var buffer: UnsafeMutableRawPointer?
        var size = 0
        if let error = rd_kafka_consumer_group_metadata_write(handle, &buffer, &size) { rd_kafka_error_destroy(error) }
        defer { rd_kafka_mem_free(nil, buffer) }
        return Array(UnsafeRawBufferPointer(start: buffer, count: size))
    }
}

extension GroupMetadata: Equatable {
    /// The same member of the same generation.
    public static func == (left: GroupMetadata, right: GroupMetadata) -> Bool { left.bytes == right.bytes }
}

extension Consumer {
    /// nil once the consumer is closed.
    public func groupMetadata() -> GroupMetadata? { GroupMetadata(rd_kafka_consumer_group_metadata(client.handle)) }
}
