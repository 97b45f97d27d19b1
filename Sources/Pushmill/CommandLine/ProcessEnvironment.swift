@preconcurrency import Glibc

/// The variables of this process. Read once, at its start, before there is a second thread that could change them.
enum ProcessEnvironment {
    static func read() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.unicodeScalars.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return variables
    }
}
