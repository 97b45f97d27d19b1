/// Text being put together in borrowed memory. What does not fit is not written, only noticed.
struct FormatOutput: ~Copyable {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var count = 0
    /// The text is cut: more memory is needed.
    private(set) var isFull = false

    init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

    /// Lives as long as the memory.
    var text: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: memory[..<count]) }

    mutating func append(_ byte: UInt8) {
        guard count < memory.count else { return isFull = true }
        memory[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= memory.count - count else { return isFull = true }
        guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
        (base + count).update(from: source, count: bytes.count)
        count += bytes.count
    }

    mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    mutating func appendSpaces(_ number: Int) {
        for _ in 0..<number { append(UInt8(ascii: " ")) }
    }
}
