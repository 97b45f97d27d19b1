import FoundationEssentials
import Glibc
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import Pushmill

/// The bill lists what the image really contains.
@Suite("The image's bill of materials")
struct SBOMTests {
    private struct Bill: Decodable {
        struct Component: Decodable {
            struct Property: Decodable {
                let name: String
                let value: String
            }

            struct Hash: Decodable { let content: String }

            let type: String
            let name: String
            let version: String?
            let purl: String?
            let properties: [Property]?
            let hashes: [Hash]?
        }

        struct Dependency: Decodable {
            let ref: String
            let dependsOn: [String]
        }

        let specVersion: String
        let components: [Component]
        let dependencies: [Dependency]
    }

    private static let deploy = String(#filePath.split(separator: "/Tests/")[0]) + "/deploy"
    private let root: TemporaryFolder

    /// A root with a library that a package has installed, changed files of that package, a package that was removed, a
    /// program that loads the library, and a file that no package owns.
    init() throws {
        root = try TemporaryFolder()
        for folder in [
            "etc", "usr", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/local", "usr/local/bin", "usr/share", "var",
            "var/lib", "var/lib/dpkg", "var/lib/dpkg/info", "var/cache",
        ] { try root.makeFolder(folder) }
        try #require(symlink("usr/lib", "\(root.path)/lib") == 0)
        try root.write("ID=debian\nVERSION_ID=\"12\"\n", to: "etc/os-release")
        try root.write(
            """
            Package: libc6
            Status: install ok installed
            Architecture: amd64
            Version: 2.36-9+deb12u10
            Source: glibc
            Depends: libgcc-s1 | other, absent (>= 1)
            Conffiles:
             /etc/kept.conf e1cbb0c3879af8347246f12c559a86b5
             /etc/set.conf e1cbb0c3879af8347246f12c559a86b5
             /etc/old.conf e1cbb0c3879af8347246f12c559a86b5 obsolete
            Maintainer: GNU Libc Maintainers <debian-glibc@lists.debian.org>
            Description: of two
             lines

            Package: libgcc-s1
            Status: install ok installed
            Architecture: amd64
            Version: 12.2.0-14
            Depends: libc6 (>= 2.35)

            Package: libgone
            Status: deinstall ok config-files
            Architecture: amd64
            Version: 1

            """, to: "var/lib/dpkg/status")
        // Packages from the time before `/lib` was a link name it so.
        try root.write(
            "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n/etc/c.conf\n/etc/kept.conf\n/etc/set.conf\n",
            to: "var/lib/dpkg/info/libc6:amd64.list")
        try root.write("", to: "var/lib/dpkg/info/libgcc-s1:amd64.list")
        try root.write("text\n", to: "usr/lib/x86_64-linux-gnu/libc.so.6")
        try root.write("changed\n", to: "etc/c.conf")
        try root.write("text\n", to: "etc/kept.conf")
        try root.write("changed\n", to: "etc/set.conf")
        let wrong = String(repeating: "0", count: 32)
        try root.write(
            "e1cbb0c3879af8347246f12c559a86b5  lib/x86_64-linux-gnu/libc.so.6\n\(wrong)  etc/c.conf\n",
            to: "var/lib/dpkg/info/libc6:amd64.md5sums")
        try root.write(FileBytes(path: "/bin/true").bytes, to: "usr/local/bin/pushmill", mode: 0o755)
        try root.write("whose?\n", to: "usr/share/nobodys")
        try root.write("made\n", to: "var/cache/made")
    }

    private func text() throws -> String {
        try Tool.run("python3 '\(Self.deploy)/sbom' --version 1.2.3 --static swift=6.3.1 '\(root.path)'")
    }

    private func bill() throws -> Bill { try JSONDecoder().decode(Bill.self, from: Data(text().utf8)) }

    @Test("The bill has the installed packages and those of their files that were changed")
    func packages() throws {
        let bill = try bill()
        let packages = bill.components.filter { $0.purl != nil }
        expect(packages.map(\.name), is: ["libc6", "libgcc-s1"])
        expect(packages[0].purl, is: "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64")
        let properties = (packages[0].properties ?? []).map { "\($0.name)=\($0.value)" }
        let changed = ["/etc/c.conf", "/etc/set.conf"].map { "debian:changed-file=\($0)" }
        expect(properties, is: ["debian:source=glibc 2.36-9+deb12u10"] + changed)
        #expect(bill.components.contains { $0.type == "operating-system" && $0.name == "debian" && $0.version == "12" })
    }

    @Test("The bill has every file that no package owns, with its hash")
    func files() throws {
        let files = try bill().components.filter { $0.hashes != nil }
        expect(files.map(\.name), is: ["/etc/os-release", "pushmill", "/usr/share/nobodys"])
        #expect(files[1].type == "application" && files[1].version == "1.2.3")
        expect(
            files[2].hashes?.map(\.content),
            is: ["\(try Tool.run("sha256sum '\(root.path)/usr/share/nobodys'").prefix(64))"])
    }

    @Test("The bill says on which packages other packages and the program depend")
    func dependencies() throws {
        let all = Dictionary(
            try bill().dependencies.map { ($0.ref, $0.dependsOn) }, uniquingKeysWith: { first, _ in first })
        let (c, gcc) = (
            "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64", "pkg:deb/debian/libgcc-s1@12.2.0-14?arch=amd64"
        )
        #expect(all[c] == [gcc] && all[gcc] == [c])
        expect(all["file:/usr/local/bin/pushmill"], is: [c, "static:swift=6.3.1"])
        expect(all["image"]?.count, is: 7)
    }

    @Test("The same root gives a byte-identical bill")
    func repeats() throws { try expect(text(), is: text()) }

    @Test("A missing library that the program loads is an error")
    func lacking() throws {
        root.delete("usr/lib/x86_64-linux-gnu/libc.so.6")
        try root.write("/.\n", to: "var/lib/dpkg/info/libc6:amd64.list")
        let failure = #expect(throws: Tool.Failed.self) { try text() }
        expect(failure?.description.contains("/usr/local/bin/pushmill loads libc.so.6"), is: true)
    }

    @Test("The image's labels have the program's version, its revision and its source")
    func labels() throws {
        let file = String(decoding: try FileBytes(path: "\(Self.deploy)/Dockerfile").bytes, as: UTF8.self)
        #expect(file.contains("\nARG VERSION=\(Version.current)\n"))
        for (label, argument) in [("version", "VERSION"), ("revision", "REVISION"), ("source", "SOURCE")] {
            #expect(file.contains("org.opencontainers.image.\(label)=\"${\(argument)}\""))
        }
        let example = file.split(separator: "\nARG ")[0]
        for argument in ["REVISION", "SOURCE"] { #expect(example.contains("--build-arg \(argument)=")) }
    }

    @Test("An image without its revision or its source does not pass the check", arguments: ["", "unknown"])
    func unlabelled(lacking: String) throws {
        for label in ["revision", "source"] {
            // A stand-in for the container engine: it has this image and cannot build one.
            let engine = try root.write(
                """
                #!/bin/sh
                case "$*" in
                    *image.\(label)*) echo "\(lacking)" ;;
                    *image.version*) echo "\(Version.current)" ;;
                    *image.*) echo known ;;
                    *) exit 1 ;;
                esac
                """, to: "engine", mode: 0o700)
            let said = try Tool.run("DOCKER='\(engine)' '\(Self.deploy)/check-image' --no-build || true")
            expect(said, is: "check-image: the image has no \(label)\n")
        }
    }
}
