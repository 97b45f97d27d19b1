// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "lottery",
    dependencies: [
        // In your own package this is a URL and a version.
        .package(name: "pushmill", path: "../../.."),
        // Another package of the same team: its producers send draws with this module.
        .package(path: "../neighbour"),
    ],
    targets: [
        .executableTarget(
            name: "Lottery", dependencies: [.product(name: "Pushmill", package: "pushmill")],
            // One thread frees what another allocated: with the C library's allocator that costs half as much again.
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
