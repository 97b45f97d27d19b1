import Glibc

/// An open file of counts, sorted by account. Never changed, but for the position in it: `CountMerge` makes the next
/// one. What a crash of the machine has kept of it may have holes, which reading tells from counts.
///
/// Rows in blocks, the first account and the checksum of each block, the identity, and from a multiple of 512 bytes on
/// the trailer. In the machine's byte order.
final class SortedCounts {
    static let rowsOfBlock = 32

    let descriptor: Int32
    let path: String
    private(set) var trailer: CountTrailer
    private let index: [CountBlock]

    deinit { close(descriptor) }

    fileprivate init(descriptor: Int32, path: String, trailer: CountTrailer, index: [CountBlock]) {
        self.descriptor = descriptor
        self.path = path
        self.trailer = trailer
        self.index = index
    }

    /// Throws `damaged` if the file is not whole, or not of this identity.
    static func open(path: String, identity: String) throws(StoreError) -> SortedCounts {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unopened(path) }
        do throws(StoreError) {
            let (trailer, index) = try read(descriptor, path, identity)
            return SortedCounts(descriptor: descriptor, path: path, trailer: trailer, index: index)
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func read(
        _ descriptor: Int32, _ path: String, _ identity: String
    ) throws(StoreError) -> (CountTrailer, [CountBlock]) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unopened(path) }
        let place = Int(status.st_size) - CountTrailer.size
        guard place >= 0, place % CountTrailer.alignment == 0 else { throw .damaged(path: path, what: "is cut off") }
        var trailer = CountTrailer()
        try trailer.withBytes { (bytes) throws(StoreError) in try fill(bytes, from: descriptor, at: place, path) }
        guard trailer.isWhole else { throw .damaged(path: path, what: "is no file of counts") }
        guard trailer.version == CountTrailer.ownVersion else {
            throw .damaged(path: path, what: "has version \(trailer.version), not \(CountTrailer.ownVersion)")
        }
        guard trailer.fits(before: place) else { throw .damaged(path: path, what: "has another length than it says") }
        var index = [CountBlock](
            repeating: CountBlock(UnsafeBufferPointer(start: nil, count: 0)), count: trailer.blockCount)
        var found = [UInt8](repeating: 0, count: trailer.identityCount)
        try index.withBytes { (bytes) throws(StoreError) in
            try fill(bytes, from: descriptor, at: trailer.indexPlace, path)
        }
        guard CountTrailer.checksum(index) == trailer.indexChecksum else {
            throw .damaged(path: path, what: "has an index that is not what was written")
        }
        try found.withBytes { (bytes) throws(StoreError) in
            try fill(bytes, from: descriptor, at: trailer.identityPlace, path)
        }
        guard found.elementsEqual(identity.utf8) else {
            let other = String(decoding: found, as: UTF8.self)
            throw .ofAnother(path: path, what: "belongs to \(other), not to \(identity)")
        }
        return (trailer, index)
    }

    /// Calls `body` for each of the accounts, which are sorted, that the file has.
    func read(_ accounts: [AccountHash], _ body: (AccountHash, CountState) -> Void) throws(StoreError) {
        let found: StoreError? = withUnsafeTemporaryAllocation(of: CountRow.self, capacity: Self.rowsOfBlock) { room in
            var current = -1
            var rows = UnsafeMutableBufferPointer(rebasing: room[..<0])
            for account in accounts {
                let block = block(of: account)
                guard block >= 0 else { continue }
                if block != current {
                    rows = UnsafeMutableBufferPointer(rebasing: room[..<trailer.rowCount(of: block)])
                    do throws(StoreError) {
                        try read(block, into: rows)
                    } catch {
                        return error
                    }
                    current = block
                }
                let at = rows.partitioningIndex { $0.account >= account }
                if at < rows.count, rows[at].account == account { body(account, rows[at].state) }
            }
            return nil
        }
        if let found { throw found }
    }

    /// Reads the rows of blocks that follow one another; throws `damaged` if they are not what was written.
    func read(_ first: Int, into rows: UnsafeMutableBufferPointer<CountRow>) throws(StoreError) {
        let place = first * Self.rowsOfBlock * CountRow.size
        try Self.fill(UnsafeMutableRawBufferPointer(rows), from: descriptor, at: place, path)
        for (block, expected) in zip(CountBlock.all(of: UnsafeBufferPointer(rows)), index[first...]) {
            guard block == expected else {
                throw .damaged(path: path, what: "has rows that are not what was written")
            }
        }
    }

    /// The last block that begins with this account or one before it; -1 if all begin behind it.
    private func block(of account: AccountHash) -> Int { index.partitioningIndex { $0.first > account } - 1 }

    /// Writes another position into the file.
    func move(to position: RecordPosition?) throws(StoreError) {
        var moved = trailer
        moved.position = position
        moved.seal()
        let place = moved.place
        try moved.withBytes { (bytes) throws(StoreError) in
            // Within one sector and one page: there is no half of it.
            guard pwrite(descriptor, bytes.baseAddress, bytes.count, place) == bytes.count else {
                throw .unopened(path)
            }
        }
        trailer = moved
    }

    private static func fill(
        _ bytes: UnsafeMutableRawBufferPointer, from descriptor: Int32, at place: Int, _ path: String
    ) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, place + done)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .damaged(path: path, what: String(cString: strerror(errno))) }
            guard count > 0 else { throw .damaged(path: path, what: "is cut off") }
            done += count
        }
    }
}

/// Makes a file of counts from the one before it and newer rows, bit by bit: an instance has other things to do
/// meanwhile. The file appears under its name when it is whole.
struct CountMerge: ~Copyable {
    /// Rows in a buffer.
    private static let rowsAtOnce = 64 * SortedCounts.rowsOfBlock

    private let path: String
    private let temporary: String
    private let descriptor: Int32
    private let input = UnsafeMutableBufferPointer<CountRow>.allocate(capacity: rowsAtOnce)
    private let output = UnsafeMutableBufferPointer<CountRow>.allocate(capacity: rowsAtOnce)
    /// Of the former file: rows read, those of them in the buffer, and the next of these.
    private var (readCount, inputCount, inputNext) = (0, 0, 0)
    private var outputCount = 0
    private var index: [CountBlock] = []
    private var rowCount = 0
    /// The next of the newer rows.
    private var next = 0
    private var isFinished = false

    init(path: String, temporary: String) throws(StoreError) {
        self.path = path
        self.temporary = temporary
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unopened(temporary) }
    }

    deinit {
        input.deallocate()
        output.deallocate()
        if isFinished || descriptor < 0 { return }
        close(descriptor)
        unlink(temporary)
    }

    /// Goes on for up to `most` rows. True if all are written.
    mutating func advance(_ former: SortedCounts?, _ rows: [CountRow], most: Int) throws(StoreError) -> Bool {
        var left = most
        while left > 0 {
            if inputNext == inputCount { try readMore(former) }
            if inputNext == inputCount, next == rows.count { return true }
            left -= 1
            if next < rows.count, inputNext == inputCount || rows[next].account <= input[inputNext].account {
                if inputNext < inputCount, rows[next].account == input[inputNext].account { inputNext += 1 }
                try append(rows[next])
                next += 1
            } else {
                try append(input[inputNext])
                inputNext += 1
            }
        }
        return false
    }

    private mutating func readMore(_ former: SortedCounts?) throws(StoreError) {
        let whole = former?.trailer.rowCount ?? 0
        let count = min(Self.rowsAtOnce, whole - readCount)
        guard count > 0 else { return }
        try former?.read(
            readCount / SortedCounts.rowsOfBlock, into: UnsafeMutableBufferPointer(rebasing: input[..<count]))
        readCount += count
        (inputCount, inputNext) = (count, 0)
    }

    @inline(__always)
    private mutating func append(_ row: CountRow) throws(StoreError) {
        output[outputCount] = row
        outputCount += 1
        rowCount += 1
        if outputCount == output.count { try flush() }
    }

    private mutating func flush() throws(StoreError) {
        let rows = UnsafeBufferPointer(rebasing: output[..<outputCount])
        index.append(contentsOf: CountBlock.all(of: rows))
        try write(UnsafeRawBufferPointer(rows))
        outputCount = 0
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .unopened(temporary) }
            done += count
        }
    }

    /// Ends the file and gives it its name.
    mutating func finish(
        identity: String, secret: AccountSecret, position: RecordPosition?, highest: CountState?
    ) throws(StoreError) -> SortedCounts {
        try flush()
        var trailer = CountTrailer()
        (trailer.rowCount, trailer.identityCount) = (rowCount, identity.utf8.count)
        (trailer.secret, trailer.position, trailer.highest) = (secret, position, highest)
        trailer.indexChecksum = CountTrailer.checksum(index)
        trailer.seal()
        try index.withUnsafeBufferPointer { (index) throws(StoreError) in try write(UnsafeRawBufferPointer(index)) }
        let padding = trailer.place - trailer.identityPlace - trailer.identityCount
        var text = Array(identity.utf8) + Array(repeating: 0, count: padding)
        try text.withBytes { (bytes) throws(StoreError) in try write(UnsafeRawBufferPointer(bytes)) }
        try trailer.withBytes { (bytes) throws(StoreError) in try write(UnsafeRawBufferPointer(bytes)) }
        // Without a file to replace, ext4 does not write the new one to the disk first. It may be lost.
        unlink(path)
        guard rename(temporary, path) == 0 else { throw .unopened(path) }
        isFinished = true
        return SortedCounts(descriptor: descriptor, path: path, trailer: trailer, index: index)
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first index whose element is behind the boundary; `isBehind` is false before it and true from it on.
    fileprivate func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Array {
    fileprivate mutating func withBytes(
        _ body: (UnsafeMutableRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try withUnsafeMutableBufferPointer { (elements) throws(StoreError) in
            try body(UnsafeMutableRawBufferPointer(elements))
        }
    }
}
