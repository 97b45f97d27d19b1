import FoundationEssentials

/// A folder of its owner's alone, removed with the value and all that came to be in it.
package final class ScratchFolder: Sendable {
    package let path: String

    /// `files` by their paths in it.
    package init(_ name: String, files: [String: [UInt8]] = [:]) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for (name, bytes) in files {
            let file = URL(filePath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
            // Keys that others can read are worth a warning.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
