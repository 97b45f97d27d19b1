// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target: Swift 6, no implicit existentials or imports, warnings are errors.
let house: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    // Builds that can be made to have faults which the simulation is to find: for tests, and for long searches. What is
    // released has none.
    Context.environment["PUSHMILL_SIMULATION"] == nil
        ? .define("PLANTED_FAULTS", .when(configuration: .debug)) : .define("PLANTED_FAULTS"),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: house)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: house)
}

func system(_ name: String, _ pkgConfig: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig)
}

/// Targets that are given any bytes: tests run their seeds, `deploy/fuzz` makes a program for libFuzzer of them.
func fuzzTests(_ dependencies: [Target.Dependency]) -> Target {
    Context.environment["PUSHMILL_FUZZ"] == nil
        ? .testTarget(
            name: "FuzzTests", dependencies: dependencies, exclude: ["Program", "Seeds"], swiftSettings: house)
        : .executableTarget(
            name: "FuzzTests", dependencies: dependencies, path: "Tests/FuzzTests",
            exclude: ["SeedTests.swift", "Seeds"],
            swiftSettings: house)
}

let package = Package(
    name: "pushmill",
    products: [
        .executable(name: "pushmill", targets: ["Main"]),
        // What a service with stages of its own is made of, and what tests these stages.
        .library(name: "Pushmill", targets: ["Pushmill"]),
        .library(name: "PushmillTesting", targets: ["PushmillTesting"]),
    ],
    targets: [
        // The command line. The executable is one line, so that a service with stages of its own is one line too.
        // What one thread allocates another frees, record by record: the C library's allocator costs half as much again.
        .executableTarget(
            name: "Main", dependencies: ["Pushmill"], swiftSettings: house,
            linkerSettings: [.linkedLibrary("jemalloc")]),
        library(
            "Pushmill",
            [
                "Replay", "Engine", "Stores", "Media", "Push", "Kafka", "Telemetry", "COpenSSL", "CYAML",
                "CProcess",
            ]),
        // A chain on payloads, for the tests of those who write stages.
        library("PushmillTesting", ["Pushmill", "Replay"]),

        // Captures and golden records: read, run, compare, report.
        library("Replay", ["Stores", "Push", "Kafka"]),
        // How messages move.
        library("Engine", ["Stores", "Push", "Kafka", "Telemetry", "CMemory"], exclude: ["ENGINE.md"]),
        // What must survive.
        library("Stores", ["Push", "CSQLite"]),
        // What notifications show beside their text: fetched and kept.
        library("Media", ["Push", "Telemetry", "CCurl"]),

        // What happens to one message; records in and out; what operations see. These never import each other.
        library("Push", ["COpenSSL", "CICU", "CZlib", "CAllocations"]),
        library("Kafka", ["CRdKafka"]),
        library("Telemetry", ["CMicrohttpd"]),

        system("CRdKafka", "rdkafka"),
        system("CSQLite", "sqlite3"),
        system("COpenSSL", "libcrypto"),
        system("CICU", "icu-i18n"),
        system("CMicrohttpd", "libmicrohttpd"),
        system("CZlib", "zlib"),
        system("CCurl", "libcurl"),
        system("CYAML", "yaml-0.1"),
        // The processor's prefetch, for which Swift has no word.
        .systemLibrary(name: "CMemory"),
        // What the kernel is asked about this process, by functions that Swift cannot call.
        .systemLibrary(name: "CProcess"),
        // Counts what the Swift runtime allocates, for benchmarks and the budgets that tests hold them to.
        .target(name: "CAllocations"),

        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: house),
        // Whole runs of several instances over a simulated cluster, each from a seed, and a program that searches among them.
        .target(
            name: "Simulation", dependencies: ["Engine", "Stores", "Push", "Kafka"], path: "Tests/Simulation/World",
            swiftSettings: house),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation", "Engine"], path: "Tests/Simulation/Program",
            swiftSettings: house),
        tests("PushTests", ["Push", "TestSupport"]),
        tests("KafkaTests", ["Kafka", "TestSupport"]),
        tests("TelemetryTests", ["Telemetry", "TestSupport"]),
        tests("StoresTests", ["Stores", "Push", "TestSupport"]),
        tests("EngineTests", ["Engine", "Simulation", "Stores", "Push", "Kafka", "TestSupport"]),
        tests("MediaTests", ["Media", "Push", "Telemetry", "TestSupport"]),
        tests("ReplayTests", ["Replay", "Push", "Kafka", "TestSupport"]),
        tests(
            "PushmillTests",
            ["Pushmill", "PushmillTesting", "Replay", "Engine", "Stores", "Push", "Kafka", "Telemetry", "TestSupport"]),
        // The service as a process, with stages that misbehave, for tests that kill it.
        .executableTarget(
            name: "EndToEndService", dependencies: ["Pushmill", "Media", "Push", "Telemetry", "CProcess"],
            path: "Tests/EndToEndService",
            swiftSettings: house),
        tests("EndToEndTests", ["Engine", "Stores", "Push", "Kafka", "Telemetry", "TestSupport"]),
        fuzzTests(
            ["Pushmill", "Replay", "Engine", "Stores", "Media", "Push", "Kafka", "Telemetry", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
