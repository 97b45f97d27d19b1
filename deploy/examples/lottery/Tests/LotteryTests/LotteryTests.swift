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

    @Test("Who has no ticket is told of the draw, and counted")
    func withoutTicket() async {
        let result = await test.run(draw.value, recipient: "carla")
        #expect(result.stages == ["lottery": .word("no-ticket")])
        #expect(result.body == "Today's numbers are out.")
    }

    @Test("What is no draw stays as it came, byte for byte")
    func other() async {
        let payload = #"{ "aps": {"alert":"Hello", "mutable-content":1}, "numbers": [] }"#
        let result = await test.run(payload, recipient: "anna")
        #expect(result.stages == ["lottery": .skipped])
        #expect(result.payload == payload)
    }

    @Test("When time is up, the text tells nobody of a prize that nobody has looked for")
    func late() async {
        let result = await test.expire(draw.value, recipient: "anna")
        #expect(result.summary == "best-attempt: lottery=expired")
        #expect(result.body == "Today's numbers are out.")
    }

    @Test("What is no draw stays as it came also when time is up")
    func lateOther() async {
        let payload = #"{"aps":{"alert":"Hello","mutable-content":1}}"#
        let result = await test.expire(payload, recipient: "anna")
        #expect(result.summary == "best-attempt: lottery=skipped")
        #expect(result.payload == payload)
    }

    @Test("The sample is a whole configuration")
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

    @Test("What came out comes out: swift test with PUSHMILL_TEST_UPDATE=1 takes over what has changed")
    func golden() async throws {
        #expect(try await test.changes(in: "Golden") == [])
    }
}
