import Glibc

/// The bytes of a configuration, and the absolute folder at which its relative paths start.
struct ConfigurationFile {
    static let maximalSize = 1 << 20

    let bytes: [UInt8]
    let folder: String

    init(_ path: String) throws(ProgramError) {
        bytes = try Self.read(path)
        folder = Self.folder(of: path)
    }

    private static func read(_ path: String) throws(ProgramError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= maximalSize else {
                throw .unreadableConfiguration(file: path, reason: "larger than a configuration may be (1 MiB)")
            }
        }
    }

    private static func failure(_ path: String) -> ProgramError {
        .unreadableConfiguration(file: path, reason: String(cString: strerror(errno)))
    }

    private static func folder(of path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        if folder.hasPrefix("/") { return String(folder) }
        guard let current = getcwd(nil, 0) else { return String(folder) }
        defer { free(current) }
        return "\(String(cString: current))/\(folder)"
    }
}
