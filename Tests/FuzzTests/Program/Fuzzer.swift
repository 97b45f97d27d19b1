import Glibc

// Used by one thread only: libFuzzer calls from its main thread.
nonisolated(unsafe) private var target: (any FuzzTarget)?

/// libFuzzer calls this for each input. An input that ends the process is a finding, and libFuzzer keeps it.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
    do {
        if target == nil { target = try chosen() }
        try target?.run(Array(UnsafeRawBufferPointer(start: start, count: count)))
    } catch {
        say("finding: \(error)")
        abort()
    }
    return 0
}

/// The target that `PUSHMILL_FUZZ_TARGET` names.
private func chosen() throws -> (any FuzzTarget)? {
    let name = getenv("PUSHMILL_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = try FuzzTargets.make(name) { return target }
    say("PUSHMILL_FUZZ_TARGET is one of \(FuzzTargets.names.joined(separator: ", "))")
    exit(64)
}

private func say(_ text: String) {
    let line = "\(text)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
}
