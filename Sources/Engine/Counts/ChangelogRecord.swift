import Stores
package enum ChangelogRecord {
    package enum Malformed: Error { case no; var what: String { "" } }
    static func appendValue(_ state: CountState, to: inout [UInt8]) {}
    static func state(key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) throws(Malformed) -> CountState { throw .no }
}
