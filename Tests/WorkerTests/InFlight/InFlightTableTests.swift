import TestSupport
import Testing
import Worker

@Suite("What is in flight")
struct InFlightTableTests {
    private func delivery(_ slot: PartitionSlot, _ offset: Int64, bytes: Int = 10) -> InFlightTable.Delivery {
        InFlightTable.Delivery(slot: slot, offset: offset, byteCount: bytes)
    }

    @Test("It takes as many as its limits allow, in number and in bytes")
    func limits() {
        var table = InFlightTable(limit: 3, byteLimit: 100)
        let slot = table.openSlot()
        let first = table.insert(delivery(slot, 1, bytes: 60))
        #expect(first != nil)
        expectEqual(table.insert(delivery(slot, 2, bytes: 41)), nil)
        #expect(table.hasRoom(for: 40))
        expectEqual(table.insert(delivery(slot, 2, bytes: 20)) != nil, true)
        expectEqual(table.insert(delivery(slot, 3, bytes: 0)) != nil, true)
        expectEqual(table.insert(delivery(slot, 4, bytes: 0)), nil)
        #expect(table.count == 3 && table.byteCount == 80 && !table.isRelieved)
        if let first { expectEqual(table.remove(first), delivery(slot, 1, bytes: 60)) }
        #expect(table.count == 2 && table.byteCount == 20)
    }

    @Test("A record larger than the byte limit passes alone")
    func tooLarge() throws {
        var table = InFlightTable(limit: 3, byteLimit: 100)
        let slot = table.openSlot()
        let small = try requireValue(table.insert(delivery(slot, 1)))
        expectEqual(table.insert(delivery(slot, 2, bytes: 1_000)), nil)
        expectEqual(table.remove(small) != nil, true)
        let large = try requireValue(table.insert(delivery(slot, 2, bytes: 1_000)))
        #expect(!table.hasRoom(for: 0))
        expectEqual(table.insert(delivery(slot, 3, bytes: 1)), nil)
        expectEqual(table.remove(large) != nil, true)
        #expect(table.isRelieved && table.byteCount == 0)
    }

    @Test("A ticket is good once, survives the way through an integer, and is never 0")
    func tickets() throws {
        var table = InFlightTable(limit: 2, byteLimit: 100)
        let slot = table.openSlot()
        let ticket = try requireValue(table.insert(delivery(slot, 5)))
        #expect(ticket.rawValue != 0)
        let returned = InFlightTable.Ticket(rawValue: ticket.rawValue)
        expectEqual(table.remove(returned), delivery(slot, 5))
        expectEqual(table.remove(returned), nil)
        let successor = try requireValue(table.insert(delivery(slot, 6)))
        expectEqual(table.remove(returned), nil)
        expectEqual(table.remove(successor)?.offset, 6)
    }

    @Test(
        "Integers that no ticket had are nothing", arguments: [0, 1, 1 << 32, 7 << 32, 3 << 32 | 1, .max] as [UInt64])
    func forged(opaque: UInt64) throws {
        var table = InFlightTable(limit: 2, byteLimit: 100)
        let slot = table.openSlot()
        let ticket = try requireValue(table.insert(delivery(slot, 5)))
        guard opaque != ticket.rawValue else { return }
        expectEqual(table.remove(InFlightTable.Ticket(rawValue: opaque)), nil)
    }

    @Test("Results of a lost assignment are told from those of the next one of the same partition")
    func fencing() throws {
        var table = InFlightTable(limit: 10, byteLimit: 100)
        let lost = table.openSlot()
        let late = try requireValue(table.insert(delivery(lost, 5)))
        table.close(lost)
        #expect(!table.slots.isOpen(lost) && table.slots.outstanding(lost) == 1)
        let next = table.openSlot()
        #expect(next.index != lost.index, "its number is not free while a delivery is out")
        let delivery = try requireValue(table.remove(late))
        #expect(delivery.slot == lost && !table.slots.isOpen(delivery.slot))
        let third = table.openSlot()
        #expect(third.index == lost.index && third != lost)
        #expect(table.slots.isOpen(third) && !table.slots.isOpen(lost))
        table.close(lost)
        #expect(table.slots.isOpen(third), "closing an old slot again is nothing to its successor")
    }

    @Test(
        "Random traffic over slots that open and close, against a dictionary", arguments: 1...3 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var table = InFlightTable(limit: 100, byteLimit: 5_000)
        var open: [PartitionSlot] = []
        var out: [UInt64: InFlightTable.Delivery] = [:]
        var order: [UInt64] = []
        var bytes = 0
        for step in 0..<50_000 as Range<Int64> {
            switch Int.random(in: 0..<40, using: &random) {
            case 0 where open.count < 8:
                let slot = table.openSlot()
                try #require(!open.contains { $0.index == slot.index })
                try #require(!out.values.contains { $0.slot.index == slot.index })
                open.append(slot)
            case 1 where !open.isEmpty:
                let slot = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                table.close(slot)
                try #require(!table.slots.isOpen(slot))
            case 2..<22 where !open.isEmpty:
                let slot = open[Int.random(in: 0..<open.count, using: &random)]
                let entry = delivery(
                    slot, step, bytes: Int.random(in: 0..<(random.once(in: 30) ? 9_000 : 90), using: &random))
                let hasRoom = out.isEmpty || out.count < 100 && bytes + entry.byteCount <= 5_000
                let ticket = table.insert(entry)
                try #require((ticket != nil) == hasRoom)
                guard let ticket else { continue }
                try requireEqual(out.updateValue(entry, forKey: ticket.rawValue), nil)
                order.append(ticket.rawValue)
                bytes += entry.byteCount
            default:
                guard !order.isEmpty else { continue }
                let opaque = order.remove(at: Int.random(in: 0..<order.count, using: &random))
                let entry = out.removeValue(forKey: opaque)
                try requireEqual(table.remove(InFlightTable.Ticket(rawValue: opaque)), entry)
                try requireEqual(table.remove(InFlightTable.Ticket(rawValue: opaque)), nil)
                bytes -= entry?.byteCount ?? 0
            }
            try #require(table.count == out.count && table.byteCount == bytes)
            for slot in open {
                try #require(table.slots.isOpen(slot))
                try #require(table.slots.outstanding(slot) == out.values.count { $0.slot == slot } || step % 50 > 0)
            }
        }
    }
}
