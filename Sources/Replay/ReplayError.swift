package import PushmillKafka
package import PushmillPayload
package import PushmillStores

/// Why a capture, a replay or a redrive cannot go on.
package enum ReplayError: Error, Equatable {
    /// Something given to read makes no sense; the line, from 1, where it has lines.
    case unreadable(name: String, line: Int? = nil, what: String)
    case file(FileFailure)
    case kafka(doing: String, KafkaError)
    case index(StoreError)
}

extension ReplayError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let name, nil, let what): "\(name): \(what)"
        case .unreadable(let name, .some(let line), let what): "\(name): line \(line): \(what)"
        case .file(let failure): "\(failure)"
        case .kafka(let doing, let error): "\(doing): \(error)"
        case .index(let error): "\(error)"
        }
    }
}

/// Puts what goes wrong below into the words of a replay.
func indexed<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(ReplayError) -> Result {
    do throws(StoreError) { return try body() } catch { throw .index(error) }
}

func filed<Result: ~Copyable>(_ body: () throws(FileFailure) -> Result) throws(ReplayError) -> Result {
    do throws(FileFailure) { return try body() } catch { throw .file(error) }
}

func asked<Result: ~Copyable>(
    _ doing: String, _ body: () throws(KafkaError) -> Result
) throws(ReplayError) -> Result {
    do throws(KafkaError) { return try body() } catch { throw .kafka(doing: doing, error) }
}
