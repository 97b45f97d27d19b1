// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "profile",
    dependencies: [
        // In your own package this is a URL and a version.
        .package(name: "pushmill", path: "../../..")
    ],
    targets: [
        .executableTarget(
            name: "Profile", dependencies: [.product(name: "Pushmill", package: "pushmill")],
            // One thread frees what another allocated: with the C library's allocator that costs half as much again.
            linkerSettings: [.linkedLibrary("jemalloc")]),
        .testTarget(
            name: "ProfileTests", dependencies: ["Profile", .product(name: "PushmillTesting", package: "pushmill")]),
    ],
    swiftLanguageModes: [.v6]
)
