import Kafka
import Testing

@testable import Worker

struct OffsetResetTests {
    @Test(
        "Where nothing is committed a partition begins at the end that auto.offset.reset names",
        arguments: [
            ("smallest", 3), ("earliest", 3), ("beginning", 3), ("largest", 9), ("latest", 9), ("end", 9), (nil, 9),
        ] as [(String?, Int64)])
    func word(_ word: String?, offset: Int64) throws {
        #expect(try OffsetReset(word).offset(between: 3, and: 9) == offset)
        #expect(OffsetReset(word).position == (offset == 3 ? Position.beginning : Position.end))
    }

    @Test("Or it does not begin")
    func error() {
        #expect(throws: KafkaError.self) { try OffsetReset("error").offset(between: 3, and: 9) }
    }
}
