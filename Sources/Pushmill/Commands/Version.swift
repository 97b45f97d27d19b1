/// The version of the product. The tag of the image in `deploy/kubernetes` follows it.
package enum Version {
    package static let current = "0.1.0"
}

extension Command {
    static let version = Command(name: "version", summary: "Prints the version") { invocation in
        invocation.console.output("pushmill \(Version.current)")
        return .success
    }
}
