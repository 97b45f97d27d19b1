import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("The connections of hosts")
struct HostSharesTests {
    /// Lets as many items of the server have connections as can.
    private func fill(_ shares: inout HostShares<String>, _ server: String, _ count: Int) -> Int {
        (0..<count).count { _ in shares.admit(server, to: server) }
    }

    @Test("A host that is asked alone may have seven eighths of the connections")
    func alone() {
        var shares = HostShares<String>(connections: 80)
        expect(fill(&shares, "slow", 100), is: 70)
        expect(fill(&shares, "new", 20), is: 10)
    }

    @Test("Hosts that hold what they have leave others a part, however many they are", arguments: [2, 3, 5, 8])
    func several(_ count: Int) {
        var shares = HostShares<String>(connections: 80)
        // They are asked in turn, as by many messages.
        for round in 0..<200 { _ = shares.admit("", to: "slow\(round % count)") }
        expect(fill(&shares, "fast", 20) >= 5, is: true)
    }

    @Test("While half of the connections are free each host may have as many as it asks for")
    func plenty() {
        var shares = HostShares<String>(connections: 80)
        expect(fill(&shares, "rare", 1), is: 1)
        expect(fill(&shares, "rarer", 1), is: 1)
        expect(fill(&shares, "busy", 38), is: 38)
    }

    @Test("A connection that is given back goes to the next host that has fewer than its share")
    func turns() {
        var shares = HostShares<String>(connections: 8)
        expect(fill(&shares, "slow", 9), is: 7)
        expect(fill(&shares, "fast", 3), is: 1)
        var next = shares.next { _ in true }
        #expect(next == nil)
        shares.ended("fast")
        next = shares.next { _ in true }
        expect(next, is: "fast")
        // The slow host has more than its share.
        shares.ended("slow")
        next = shares.next { _ in true }
        expect(next, is: "fast")
        shares.ended("slow")
        next = shares.next { _ in true }
        #expect(next == nil)
    }

    @Test("Items that are no longer wanted get no connection, and their host no share")
    func unwanted() {
        var shares = HostShares<Int>(connections: 16)
        for number in 0..<14 { _ = shares.admit(number, to: "slow") }
        for number in 14..<20 {
            let isAdmitted = shares.admit(number, to: "slow")
            #expect(!isAdmitted)
        }
        shares.ended("slow")
        let next = shares.next { $0 > 17 }
        expect(next, is: 18)
        for _ in 0..<14 { shares.ended("slow") }
        let none = shares.next { _ in false }
        #expect(none == nil)
        expect((0..<20).count { _ in shares.admit(0, to: "other") }, is: 14)
    }
}
