import Kafka
import Pushmill
import PushmillTesting
import Testing

@testable import Lottery

@Suite("lottery")
struct LotteryTests {
    private let test = StageTest(LotteryStage(tickets: ["anna": [[3, 14, 15, 22, 41, 48], [1, 2, 3, 4, 5, 6]]]))
    private let draw = DrawRecord(recipient: "anna", numbers: [3, 14, 15, 16, 41, 42])

    @Test("The best ticket counts")
    func winner() async {
        let result = await test.run(draw.value, recipient: draw.key)
        #expect(result.summary == "modified: lottery=ok")
        #expect(result.title == "Today's draw")
        #expect(result.body == "4 of 6: you have won!")
    }

    @Test("A recipient without a ticket is told of the draw and counted as no-ticket")
    func withoutTicket() async {
        let result = await test.run(draw.value, recipient: "carla")
        #expect(result.stages == ["lottery": .word("no-ticket")])
        #expect(result.body == "Today's numbers are out.")
    }

    @Test("A payload that is not a draw stays unchanged, byte for byte")
    func other() async {
        let payload = #"{ "aps": {"alert":"Hello", "mutable-content":1}, "numbers": [] }"#
        let result = await test.run(payload, recipient: "anna")
        #expect(result.stages == ["lottery": .skipped])
        #expect(result.payload == payload)
    }

    @Test("At the deadline the text announces the draw and promises no prize")
    func late() async {
        let result = await test.expire(draw.value, recipient: "anna")
        #expect(result.summary == "best-attempt: lottery=expired")
        #expect(result.body == "Today's numbers are out.")
    }

    @Test("A payload that is not a draw stays unchanged at the deadline too")
    func lateOther() async {
        let payload = #"{"aps":{"alert":"Hello","mutable-content":1}}"#
        let result = await test.expire(payload, recipient: "anna")
        #expect(result.summary == "best-attempt: lottery=skipped")
        #expect(result.payload == payload)
    }

    @Test("The sample is a complete configuration")
    func sample() async throws {
        let test = try await StageTest(configurationFile: "../../Sample/lottery.yaml", stages: [LotteryStage.entry])
        #expect(await test.run(draw.value, recipient: "anna").body == "4 of 6: you have won!")
    }

    @Test("A configuration without tickets is refused before anything runs")
    func mistake() async {
        let error = await #expect(throws: (any Error).self) {
            try await StageTest(configuration: "stages: [lottery]", stages: [LotteryStage.entry])
        }
        #expect(error.map { "\($0)" }?.contains("stages.lottery.tickets") == true)
    }

    @Test("Results match the golden files; PUSHMILL_TEST_UPDATE=1 updates the files instead")
    func golden() async throws {
        #expect(try await test.changes(in: "Golden") == [])
    }
}
