// swift-tools-version: 6.2
import PackageDescription

// A package that any team may have, with a module of a common name: a library's modules must not have such names.
let package = Package(
    name: "neighbour",
    products: [.library(name: "Kafka", targets: ["Kafka"])],
    targets: [.target(name: "Kafka")],
    swiftLanguageModes: [.v6]
)
