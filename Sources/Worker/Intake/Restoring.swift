/// A partition that waits for what it needs before it is read.
struct Restoring {
    let start: PartitionStart
    /// Of the assignment: it may have come and gone before.
    let number: Int
    /// What is not whole yet: counts, contacts.
    var missing: Int
}
