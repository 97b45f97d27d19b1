import PushmillTestSupport

/// A folder with a configuration and other files.
struct ConfigurationFolder {
    private let folder: TemporaryFolder
    let file: String
    var path: String { folder.path }

    init(_ text: String) throws {
        folder = try TemporaryFolder()
        file = try folder.write(text, to: "pushmill.yaml")
    }

    func makeFolder(_ name: String) throws { try folder.makeFolder(name) }

    func write(_ name: String, _ text: String) throws { try folder.write(text, to: name) }
}
