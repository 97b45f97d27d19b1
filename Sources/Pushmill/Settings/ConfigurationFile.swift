import Glibc
import PushmillStages

/// The bytes of a configuration, and the absolute folder at which its relative paths start.
struct ConfigurationFile {
    let bytes: [UInt8]
    let folder: String

    init(_ path: String) throws(ProgramError) {
        do {
            bytes = try FileBytes(path: path, limit: 1 << 20).bytes
        } catch {
            throw .unreadableConfiguration("\(error)")
        }
        folder = Self.folder(of: path)
    }

    private static func folder(of path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        if folder.hasPrefix("/") { return String(folder) }
        guard let current = getcwd(nil, 0) else { return String(folder) }
        defer { free(current) }
        return "\(String(cString: current))/\(folder)"
    }
}
