import FoundationEssentials

@testable import PushmillLocalization
@testable import PushmillStages

/// A test's own catalog folder, deleted with the object.
final class CatalogFixture {
    let folder: String

    /// Files by path, such as `en.lproj/Localizable.strings`.
    init(_ files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory.path + "/pushmill-catalog-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (path, text) in files { try write(path, Array(text.utf8)) }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func write(_ path: String, _ bytes: [UInt8]) throws {
        let file = "\(folder)/\(path)"
        let parent = file[..<(file.lastIndex(of: "/") ?? file.endIndex)]
        try FileManager.default.createDirectory(atPath: String(parent), withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: file), options: .atomic)
    }

    func catalog(defaultLocale: String = "en") throws -> Catalog {
        try Catalog(folder: folder, defaultLocale: try locale(defaultLocale))
    }

    func stage() throws -> LocalizeStage {
        let defaultLocale = try locale("en")
        let catalog = try ReloadableFile(path: folder) { path, _ in
            CatalogInUse(try Catalog(folder: path, defaultLocale: defaultLocale))
        }
        return LocalizeStage(catalog: catalog, localeSources: [.header(Array("locale".utf8))])
    }

    /// The catalog's problems, with paths relative to the folder.
    func problems(defaultLocale: String = "en") -> [String] {
        do {
            _ = try catalog(defaultLocale: defaultLocale)
            return []
        } catch let error as CatalogError {
            return error.problems.map { String($0.description.dropFirst(folder.utf8.count + 1)) }
        } catch {
            return ["\(error)"]
        }
    }
}

func locale(_ tag: String) throws -> LocaleName {
    guard let name = LocaleName(tag) else { throw NoLocale(tag: tag) }
    return name
}

struct NoLocale: Error { let tag: String }

extension Catalog {
    /// The translation for a recipient, or in brackets the reason why there is none.
    func text(_ key: String, _ arguments: [String] = [], _ wishes: String = "en") -> String {
        let choice = Array(wishes.utf8).withUnsafeBufferPointer { self.choice(for: $0) }
        let texts = arguments.map { text in
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
            _ = copy.initialize(from: text.utf8)
            return copy
        }
        defer { texts.forEach { $0.deallocate() } }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 16) { memory in
            var output = FormatOutput(memory)
            let result = texts.map { FormatArgument(bytes: UnsafeBufferPointer($0)) }.withUnsafeBufferPointer {
                arguments in
                Array(key.utf8).withUnsafeBufferPointer { choice.localize($0, arguments, to: &output) }
            }
            switch result {
            case .ok: return output.isFull ? "[full]" : String(decoding: output.text, as: UTF8.self)
            case .missing: return "[missing]"
            case .wrongArguments: return "[arguments]"
            }
        }
    }
}
