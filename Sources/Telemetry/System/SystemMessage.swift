import Glibc

/// What the C library says about an `errno`; safe on any thread since glibc 2.32.
func systemMessage(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
