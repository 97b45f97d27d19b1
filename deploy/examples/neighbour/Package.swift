// swift-tools-version: 6.2
import PackageDescription

// A package as any team may have it, with a module of a common name: modules of a library must not have one.
let package = Package(
    name: "neighbour",
    products: [.library(name: "Kafka", targets: ["Kafka"])],
    targets: [.target(name: "Kafka")],
    swiftLanguageModes: [.v6]
)
