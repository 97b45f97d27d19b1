/// What one event does to its recipient's count in its app.
public enum BadgeOperation: Sendable, Equatable {
    case add(Int32)
    case set(Int32)

    /// A count goes from 0 to 2^31-1 and stays at its end.
    public func applied(to count: Int32) -> Int32 {
        switch self {
        case .add(let increment):
            let (sum, overflow) = count.addingReportingOverflow(increment)
            return overflow ? .max : max(0, sum)
        case .set(let count): return max(0, count)
        }
    }
}
