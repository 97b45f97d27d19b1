/// What a follower of contacts has shown of one place (a partition, or all of a topic that is not co-partitioned), and
/// what it may show next: never what an earlier record of the same log says.
///
/// A log that is created again or cut begins a new era: the place shows the former log until the follower has noticed,
/// and never after it has shown the next one.
struct ShownContacts {
    private struct Write {
        let number: Int
        let isDeletion: Bool
    }

    private struct Era {
        /// What readers of the log found of each contact when the era began; 0 or none if it was not there.
        var base: [Int: Int] = [:]
        /// The committed writes of each contact, in their order, from the base on.
        var writes: [Int: [Write]] = [:]

        func isAbsent(_ contact: Int, at number: Int) -> Bool {
            number == 0 || writes[contact]?.contains { $0.number == number && $0.isDeletion } == true
        }
    }

    private struct Level {
        var era = 0
        /// 0 if the contact was never there.
        var write = 0
    }

    private var eras = [Era()]
    private var levels: [Int: Level] = [:]
    /// Any state of the eras before this one may show.
    private var mixed = 0

    mutating func commit(_ entry: SimulatedContactLog.Entry) {
        guard let contact = entry.contact else { return }
        var writes = eras[eras.count - 1].writes[contact] ?? []
        let index = writes.firstIndex { $0.number > entry.write } ?? writes.count
        writes.insert(Write(number: entry.write, isDeletion: entry.isDeletion), at: index)
        eras[eras.count - 1].writes[contact] = writes
    }

    /// `later`: committed, but behind an open transaction.
    mutating func beginEra(_ base: [Int: SimulatedContactLog.Entry], later: [SimulatedContactLog.Entry]) {
        eras.append(Era(base: base.mapValues(\.write)))
        for entry in base.values { commit(entry) }
        for entry in later { commit(entry) }
    }

    /// The log has changed while it was read again from its beginning: what had been read of it by then may show, until
    /// the follower notices.
    mutating func mix() {
        mixed = eras.count - 1
    }

    /// The place shows this write's name, or no such contact. Returns what is wrong with that.
    mutating func show(_ contact: Int, _ write: Int?) -> String? {
        let level = levels[contact] ?? Level()
        for era in (level.era < mixed ? 0 : level.era)..<eras.count {
            let writes = eras[era].writes[contact] ?? []
            // What is left of a log that was cut is not read back to its beginning.
            let floor = era < mixed ? 0 : era == level.era ? level.write : eras[era].base[contact] ?? 0
            let matches =
                if let write {
                    writes.first { $0.number == write && !$0.isDeletion && $0.number >= floor }?.number
                } else {
                    eras[era].isAbsent(contact, at: floor)
                        ? floor : writes.first { $0.isDeletion && $0.number >= floor }?.number
                }
            guard let matches else { continue }
            levels[contact] = Level(era: era, write: matches)
            return nil
        }
        let shown = write.map { "is shown as \($0)" } ?? "is gone"
        return "contact \(contact) \(shown) after \(level.write) in era \(level.era) of \(eras.count)"
    }
}
