// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6, no implicit existentials or imports, warnings are errors.
let house: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    // Compiles in the faults that the simulation must find: for tests and long searches, never in a release.
    Context.environment["PUSHMILL_SIMULATION"] == nil
        ? .define("PLANTED_FAULTS", .when(configuration: .debug)) : .define("PLANTED_FAULTS"),
]

/// Module names carry a prefix, because SwiftPM refuses two modules of one name even in different packages. Their
/// folders in `Sources` have short names.
func library(
    _ name: String, in folder: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [],
    embedding: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)", exclude: exclude,
        resources: embedding.map { .embedInCode($0) }, swiftSettings: house)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: house)
}

func system(_ name: String, in folder: String, _ pkgConfig: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/\(folder)", pkgConfig: pkgConfig)
}

/// The fuzz targets: tests run their seeds, and `deploy/fuzz` builds them as a program for libFuzzer.
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
        .executable(name: "pushmill", targets: ["PushmillCommand"]),
        // For services with stages of their own, and for the tests of such stages.
        .library(name: "Pushmill", targets: ["Pushmill"]),
        .library(name: "PushmillTesting", targets: ["PushmillTesting"]),
    ],
    targets: [
        // The command line. The executable is one line, so a service with stages of its own is one line, too.
        // Each record is allocated by one thread and freed by another: with glibc's allocator that costs half as much
        // again.
        .executableTarget(
            name: "PushmillCommand", dependencies: ["Pushmill"], path: "Sources/Main", swiftSettings: house,
            linkerSettings: [.linkedLibrary("jemalloc")]),
        library(
            "Pushmill", in: "Pushmill",
            [
                "PushmillReplay", "PushmillEngine", "PushmillStores", "PushmillMedia", "PushmillStages",
                "PushmillCiphers", "PushmillLocalization", "PushmillPayload", "PushmillKafka", "PushmillTelemetry",
                "PushmillDemo", "PushmillBenchmarks", "CPushmillOpenSSL", "CPushmillYAML", "CPushmillProcess",
            ]),
        // Runs a chain on payloads, for tests of stages.
        library(
            "PushmillTesting", in: "PushmillTesting",
            ["Pushmill", "PushmillReplay", "PushmillEngine", "PushmillStages", "PushmillPayload"]),

        // Sample events, the files that a service needs for them, and a report of the results.
        library(
            "PushmillDemo", in: "Demo",
            ["PushmillReplay", "PushmillStages", "PushmillCiphers", "PushmillPayload", "PushmillKafka"],
            embedding: ["keys.jwks.json", "contacts.jsonl", "Localizable.xcstrings"]),
        // The measurements of `pushmill bench`.
        library(
            "PushmillBenchmarks", in: "Benchmarks",
            [
                "PushmillEngine", "PushmillStores", "PushmillStages", "PushmillCiphers",
                "PushmillLocalization", "PushmillPayload", "CPushmillAllocations",
            ]),
        // Captures and golden records: read, run, compare, report.
        library(
            "PushmillReplay", in: "Replay", ["PushmillStores", "PushmillStages", "PushmillPayload", "PushmillKafka"],
            embedding: ["report.html", "report.css", "difference.js", "cards.js", "list.js"].map {
                "Reports/Page/\($0)"
            }),
        // Moves messages: shards, partitions, checkpoints.
        library(
            "PushmillEngine", in: "Engine",
            [
                "PushmillStores", "PushmillStages", "PushmillPayload", "PushmillKafka", "PushmillTelemetry",
                "CPushmillMemory",
            ],
            exclude: ["ENGINE.md"]),
        // What must survive a restart: contacts, counts.
        library(
            "PushmillStores", in: "Stores",
            [
                "PushmillStages", "PushmillLocalization", "PushmillPayload", "CPushmillSQLite", "CPushmillAllocations",
                "CPushmillMemory",
            ]),
        // Media that notifications attach: fetched and cached.
        library(
            "PushmillMedia", in: "Media",
            ["PushmillStages", "PushmillCiphers", "PushmillPayload", "PushmillTelemetry", "CPushmillCurl"]),

        // What happens to one message, in four modules: a chain of stages on top of ciphers and localization, and all
        // three on top of the payload. These four and the modules for Kafka and telemetry never import each other.
        library("PushmillStages", in: "Stages", ["PushmillCiphers", "PushmillLocalization", "PushmillPayload"]),
        // Encryption and decryption, and key sets.
        library("PushmillCiphers", in: "Ciphers", ["PushmillPayload", "CPushmillOpenSSL"]),
        // Translation catalogs, formats, and ICU's knowledge of languages.
        library(
            "PushmillLocalization", in: "Localization", ["PushmillPayload", "CPushmillICU", "CPushmillAllocations"]),
        // The payload as JSON, the records that carry it, and the few things that the three modules above share.
        library("PushmillPayload", in: "Payload", ["CPushmillZlib", "CPushmillText"]),

        library("PushmillKafka", in: "Kafka", ["CPushmillRdKafka", "CPushmillWaits"]),
        library(
            "PushmillTelemetry", in: "Telemetry", ["CPushmillMicrohttpd"],
            embedding: ["page.html", "page.css", "samples.js", "drawing.js", "panels.js", "live.js"].map {
                "Page/\($0)"
            }),

        system("CPushmillRdKafka", in: "CRdKafka", "rdkafka"),
        system("CPushmillSQLite", in: "CSQLite", "sqlite3"),
        system("CPushmillOpenSSL", in: "COpenSSL", "libcrypto"),
        system("CPushmillMicrohttpd", in: "CMicrohttpd", "libmicrohttpd"),
        system("CPushmillZlib", in: "CZlib", "zlib"),
        system("CPushmillCurl", in: "CCurl", "libcurl"),
        system("CPushmillYAML", in: "CYAML", "yaml-0.1"),
        // Compares sixteen bytes at once: Swift compares its own vectors byte by byte.
        system("CPushmillText", in: "CText"),
        // The processor's prefetch instruction, which Swift does not offer.
        system("CPushmillMemory", in: "CMemory"),
        // System calls about this process that Swift cannot call.
        system("CPushmillProcess", in: "CProcess"),
        // Counts the Swift runtime's allocations, for benchmarks and for the budgets that tests check.
        .target(name: "CPushmillAllocations", path: "Sources/CAllocations"),
        // ICU without its own types, which Foundation's module has too.
        .target(
            name: "CPushmillICU", path: "Sources/CICU",
            linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),
        // Makes librdkafka's waits use the monotonic clock.
        .target(name: "CPushmillWaits", path: "Sources/CWaits"),

        .target(
            name: "PushmillTestSupport", dependencies: ["PushmillKafka", "CPushmillRdKafka"], path: "Tests/TestSupport",
            swiftSettings: house),
        // Whole runs of several instances over a simulated cluster, each from a seed, and a program that searches them.
        .target(
            name: "PushmillSimulation",
            dependencies: ["PushmillEngine", "PushmillStores", "PushmillStages", "PushmillPayload", "PushmillKafka"],
            path: "Tests/Simulation/World",
            swiftSettings: house),
        .executableTarget(
            name: "PushmillSimulate", dependencies: ["PushmillSimulation", "PushmillEngine"],
            path: "Tests/Simulation/Program",
            swiftSettings: house),
        tests(
            "PushTests",
            [
                "PushmillStages", "PushmillCiphers", "PushmillLocalization", "PushmillPayload", "PushmillBenchmarks",
                "PushmillTestSupport",
            ]),
        tests("KafkaTests", ["PushmillKafka", "PushmillTestSupport"]),
        tests("TelemetryTests", ["PushmillTelemetry", "PushmillTestSupport"]),
        tests(
            "StoresTests",
            [
                "PushmillStores", "PushmillStages", "PushmillLocalization", "PushmillPayload", "PushmillBenchmarks",
                "PushmillTestSupport",
            ]),
        tests(
            "EngineTests",
            [
                "PushmillEngine", "PushmillSimulation", "PushmillStores", "PushmillStages", "PushmillPayload",
                "PushmillKafka", "PushmillTelemetry", "PushmillTestSupport",
            ]),
        tests(
            "MediaTests",
            [
                "PushmillMedia", "PushmillStages", "PushmillCiphers", "PushmillPayload", "PushmillTelemetry",
                "PushmillTestSupport",
            ]),
        tests(
            "ReplayTests",
            [
                "PushmillReplay", "PushmillStages", "PushmillStores", "PushmillPayload", "PushmillKafka",
                "PushmillTestSupport",
            ]),
        tests(
            "PushmillTests",
            [
                "Pushmill", "PushmillTesting", "PushmillReplay", "PushmillEngine", "PushmillStores", "PushmillStages",
                "PushmillCiphers", "PushmillLocalization", "PushmillPayload", "PushmillKafka", "PushmillTelemetry",
                "PushmillDemo", "PushmillBenchmarks", "PushmillTestSupport",
            ]),
        // The service as a process with misbehaving stages, for tests that kill it.
        .executableTarget(
            name: "PushmillEndToEndService",
            dependencies: [
                "Pushmill", "PushmillMedia", "PushmillStages", "PushmillPayload", "PushmillTelemetry",
                "CPushmillProcess",
            ],
            path: "Tests/EndToEndService",
            swiftSettings: house),
        tests(
            "EndToEndTests",
            [
                "PushmillEngine", "PushmillStores", "PushmillStages", "PushmillCiphers", "PushmillPayload",
                "PushmillKafka", "PushmillTelemetry", "PushmillTestSupport",
            ]),
        fuzzTests(
            [
                "Pushmill", "PushmillReplay", "PushmillEngine", "PushmillStores", "PushmillMedia", "PushmillStages",
                "PushmillCiphers", "PushmillLocalization", "PushmillPayload", "PushmillKafka", "PushmillTelemetry",
                "PushmillTestSupport",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// `deploy/test --targets` names some test targets, since a sanitizer build takes long: the package then has only these.
if let wanted = Context.environment["PUSHMILL_TESTS"]?.split(separator: " ") {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name[...]) }
}
