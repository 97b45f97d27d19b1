internal import CPushmillRdKafka

extension TopicPartition {
    /// Where records of this key are published, as by `Producer` and by Java clients: murmur2.
    public init(of key: UnsafeRawBufferPointer, in topic: String, partitions: Int) {
        let count = Int32(clamping: max(1, partitions))
        // The topic's handle is for partitioners that look at the topic.
        self.init(topic, rd_kafka_msg_partitioner_murmur2(nil, key.baseAddress, key.count, count, nil, nil))
    }
}
