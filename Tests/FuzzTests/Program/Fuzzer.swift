import Glibc

// Of one thread: libFuzzer calls from its main one.
nonisolated(unsafe) private var target: (any FuzzTarget)?

/// Called by libFuzzer for each input. What ends the process is a finding, and the input is kept.
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

/// The one that `PUSHMILL_FUZZ_TARGET` names.
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
