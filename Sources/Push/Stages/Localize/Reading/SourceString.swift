/// A text out of a catalog file, unescaped, and where it stands there.
struct SourceString {
    let bytes: ArraySlice<UInt8>
    let offset: Int

    var string: String { String(decoding: bytes, as: UTF8.self) }

    static func == (left: SourceString, right: StaticString) -> Bool {
        left.bytes.elementsEqual(UnsafeBufferPointer(start: right.utf8Start, count: right.utf8CodeUnitCount))
    }
}
