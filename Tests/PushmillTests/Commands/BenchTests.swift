import PushmillBenchmarks
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("bench")
struct BenchTests {
    @Test("A row has the rate, the time, the allocations and the references") func row() {
        let row = BenchTable.row(Measurement("a sample", messages: 10, batches: 1) {})
        #expect(row.contains(/^a sample +[0-9]+ +[0-9]+\.[0-9]{3} +0\.00 +0\.0$/))
        expect(row.utf8.count, is: BenchTable.heading.utf8.count)
    }

    @Test("An unknown measurement is a usage error") func unknown() async {
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "bench payload decrpyt"), is: .usage)
        #expect(terminal.error.contains("found 'decrpyt'; did you mean \"decrypt\"?"))
    }
}
