import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("Look-ups of host names")
struct NameGateTests {
    @Test("One transfer looks up a host, and the others wait until its address is found")
    func found() {
        var gate = NameGate<Int>()
        let first = (1...3).map { gate.admit($0, to: "h") }
        expect(first, is: [true, false, false])
        let others = (4...5).map { gate.admit($0, to: "other") }
        expect(others, is: [true, false])
        let waiting = gate.found("h")
        expect(waiting, is: [2, 3])
        let later = (6...7).map { gate.admit($0, to: "h") }
        expect(later, is: [true, false])
    }

    @Test("If a look-up ends without an address, the next wanted transfer asks")
    func ended() {
        var gate = NameGate<Int>()
        let first = (1...5).map { gate.admit($0, to: "h") }
        expect(first, is: [true, false, false, false, false])
        gate.ended("h")
        let next = [gate.next { $0 > 3 }, gate.next { _ in true }]
        expect(next, is: [4, nil])
        let more = gate.admit(6, to: "h")
        #expect(!more)
        gate.ended("h")
        let last = gate.next { $0 > 5 }
        expect(last, is: 6)
        gate.ended("h")
        let none = gate.next { _ in true }
        #expect(none == nil)
        let again = gate.admit(7, to: "h")
        #expect(again)
    }

    @Test("Concurrent look-ups are limited; other transfers ask in turn, or go with another's answer")
    func bounded() {
        var gate = NameGate<Int>(mostAsking: 2)
        let first = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "c"), (6, "e"), (7, "a")].map {
            gate.admit($0, to: $1)
        }
        expect(first, is: [true, true, false, false, false, false, false])
        let early = gate.next { _ in true }
        #expect(early == nil)

        gate.ended("a")
        let second = [gate.next { $0 != 4 }, gate.next { $0 != 4 }]
        expect(second, is: [3, nil])
        let found = gate.found("b")
        expect(found, is: [])
        // 4 is not wanted, and 7 has to wait for its turn, as it had not asked before.
        let third = [gate.next { $0 != 4 }, gate.next { $0 != 4 }]
        expect(third, is: [6, nil])
        let waited = gate.found("c")
        expect(waited, is: [5])
        let last = [gate.next { _ in true }, gate.next { _ in true }]
        expect(last, is: [7, nil])
    }

    @Test("A host that was found before does not wait behind hosts without an answer")
    func known() {
        var gate = NameGate<Int>(mostAsking: 2)
        let first = gate.admit(1, to: "live")
        let none = gate.found("live")
        #expect(first && none == [])
        let dead = [(2, "a"), (3, "b"), (4, "c")].map { gate.admit($0, to: $1) }
        expect(dead, is: [true, true, false])
        let again = [5, 6].map { gate.admit($0, to: "live") }
        expect(again, is: [true, false])
        // The transfer did not need the address. The one that waits for it does not queue behind the others either.
        gate.ended("live")
        let instead = gate.next { _ in true }
        expect(instead, is: 6)
        let more = gate.admit(7, to: "live")
        let waiting = gate.found("live")
        #expect(!more && waiting == [7])
        // The other hosts have no more room than before.
        let early = gate.next { _ in true }
        #expect(early == nil)
        gate.ended("a")
        let next = gate.next { _ in true }
        expect(next, is: 4)
    }

    @Test("Of many hosts that were found before, all but one stay known when another is found")
    func manyKnown() {
        var gate = NameGate<Int>(mostAsking: 2)
        for host in ["a", "b", "c"] {
            let isAsked = gate.admit(0, to: host)
            let waiting = gate.found(host)
            #expect(isAsked && waiting.isEmpty)
        }
        let dead = ["x", "y"].map { gate.admit(1, to: $0) }
        expect(dead, is: [true, true])
        let admitted = ["a", "b", "c"].count { gate.admit(2, to: $0) }
        expect(admitted, is: 2)
    }

    @Test("No exchange looks up a remembered address, or any address without permission")
    func remembered() throws {
        let server = try #require(MediaServer.shared)
        let waker = try Waker()
        let multiplexer = try #require(Multiplexer(waker: waker.descriptor))
        // The server closes the connection after its answer.
        let path = "/short/\(UInt64.random(in: 0 ... .max))"
        let address = try WebAddress(server.url(path, host: "localhost"), .sample("/nonexistent"))
        func exchange(names: [String] = []) throws -> Exchange {
            var reach = Reach()
            reach.admits = { _ in true }
            reach.names = names
            let means = Means(settings: .sample("/nonexistent"), reach: reach, folder: nil) { _, _ in }
            let transfer = Transfer(Fetch(address.text, until: .never), means)
            return try #require(Exchange(address, of: transfer, from: 0, ifStill: nil, reach))
        }
        func run(_ exchange: Exchange) -> Exchange.Progress {
            multiplexer.add(exchange)
            repeat { multiplexer.wait(until: .never) } while multiplexer.nextEnded()?.0 !== exchange
            multiplexer.remove(exchange)
            return exchange.progress
        }
        let first = try exchange()
        expect(run(first), is: .needsAddress)
        expect(server.requests(for: path), is: [])
        first.renew(mayAsk: true)
        expect(run(first), is: .hasAddress)
        expect(run(try exchange()), is: .hasAddress)
        expect(server.requests(for: path).count, is: 2)
        // Removes the name, as libcurl does when it has remembered it for long.
        expect(run(try exchange(names: ["-localhost:\(server.port)"])), is: .needsAddress)
        expect(server.requests(for: path).count, is: 2)
    }
}
