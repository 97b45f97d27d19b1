import Testing

/// Services in processes of their own, killed and stopped, over real group membership. One test after the other: each
/// needs the machine's cores for itself.
@Suite("End to end", .serialized)
enum EndToEnd {}
