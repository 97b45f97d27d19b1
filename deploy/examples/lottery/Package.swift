// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "lottery",
    dependencies: [
        // Yours is a URL and a version.
        .package(name: "pushmill", path: "../../.."),
        // What else a team has: the module that its producers send draws with.
        .package(path: "../neighbour"),
    ],
    targets: [
        .executableTarget(
            name: "Lottery", dependencies: [.product(name: "Pushmill", package: "pushmill")],
            // What one thread allocates another frees: the C library's allocator costs half as much again.
            linkerSettings: [.linkedLibrary("jemalloc")]),
        .testTarget(
            name: "LotteryTests",
            dependencies: [
                "Lottery",
                .product(name: "PushmillTesting", package: "pushmill"),
                .product(name: "Kafka", package: "neighbour"),
            ],
            exclude: ["Golden"]),
    ],
    swiftLanguageModes: [.v6]
)
