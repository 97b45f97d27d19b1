/// What transfers can reach, and how patiently: the public internet, in the names of its authorities. Tests have another
/// one.
package struct Reach: Sendable {
    /// Whether a socket's address may be connected to.
    package var admits: @Sendable (UnsafeRawBufferPointer) -> Bool = PublicAddress.contains
    /// Names that are not asked of anybody: `NAME:PORT:ADDRESS`.
    package var names: [String] = []
    /// A file of certificates instead of the system's.
    package var authorities: String?
    /// What brings nothing for so long is begun again: more than servers take for media that they make when asked, and
    /// soon enough for another attempt within the deadline of thirty seconds that a message has unless configured.
    package var patience = Duration.seconds(10)

    package init() {}
}
