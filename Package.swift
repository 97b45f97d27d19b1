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

/// Modules have names that are nobody else's: SwiftPM refuses two of one name, in whichever packages. Folders, in `Sources`,
/// have short ones.
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
        .executable(name: "pushmill", targets: ["PushmillCommand"]),
        // What a service with stages of its own is made of, and what tests these stages.
        .library(name: "Pushmill", targets: ["Pushmill"]),
        .library(name: "PushmillTesting", targets: ["PushmillTesting"]),
    ],
    targets: [
        // The command line. The executable is one line, so that a service with stages of its own is one line too.
        // What one thread allocates another frees, record by record: the C library's allocator costs half as much again.
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
        // A chain on payloads, for the tests of those who write stages.
        library(
            "PushmillTesting", in: "PushmillTesting",
            ["Pushmill", "PushmillReplay", "PushmillStages", "PushmillPayload"]),

        // Sample events, what a service for them has to know, and what came of them.
        library(
            "PushmillDemo", in: "Demo",
            ["PushmillReplay", "PushmillStages", "PushmillCiphers", "PushmillPayload", "PushmillKafka"],
            embedding: ["keys.jwks.json", "contacts.jsonl", "Localizable.xcstrings"]),
        // What `pushmill bench` measures.
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
        // How messages move.
        library(
            "PushmillEngine", in: "Engine",
            [
                "PushmillStores", "PushmillStages", "PushmillPayload", "PushmillKafka", "PushmillTelemetry",
                "CPushmillMemory",
            ],
            exclude: ["ENGINE.md"]),
        // What must survive.
        library(
            "PushmillStores", in: "Stores",
            [
                "PushmillStages", "PushmillLocalization", "PushmillPayload", "CPushmillSQLite", "CPushmillAllocations",
                "CPushmillMemory",
            ]),
        // What notifications show beside their text: fetched and kept.
        library(
            "PushmillMedia", in: "Media",
            ["PushmillStages", "PushmillCiphers", "PushmillPayload", "PushmillTelemetry", "CPushmillCurl"]),

        // What happens to one message, in four: a chain of stages on top of ciphers and of localization, and all of them
        // on the payload. None of the four imports records in and out or what operations see, nor do these import them.
        library("PushmillStages", in: "Stages", ["PushmillCiphers", "PushmillLocalization", "PushmillPayload"]),
        // Ciphertexts opened and made, and the keys for them.
        library("PushmillCiphers", in: "Ciphers", ["PushmillPayload", "CPushmillOpenSSL"]),
        // Catalogs of translations, formats, and what ICU knows of languages.
        library(
            "PushmillLocalization", in: "Localization", ["PushmillPayload", "CPushmillICU", "CPushmillAllocations"]),
        // The payload as JSON, the records that carry it, and the few things that the three above share.
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
        system("CPushmillICU", in: "CICU", "icu-i18n"),
        system("CPushmillMicrohttpd", in: "CMicrohttpd", "libmicrohttpd"),
        system("CPushmillZlib", in: "CZlib", "zlib"),
        system("CPushmillCurl", in: "CCurl", "libcurl"),
        system("CPushmillYAML", in: "CYAML", "yaml-0.1"),
        // Sixteen bytes compared at once: Swift's own vectors are compared one byte after the other.
        system("CPushmillText", in: "CText"),
        // The processor's prefetch, for which Swift has no word.
        system("CPushmillMemory", in: "CMemory"),
        // What the kernel is asked about this process, by functions that Swift cannot call.
        system("CPushmillProcess", in: "CProcess"),
        // Counts what the Swift runtime allocates, for benchmarks and the budgets that tests hold them to.
        .target(name: "CPushmillAllocations", path: "Sources/CAllocations"),
        // Waits of librdkafka, by a clock that nobody sets.
        .target(name: "CPushmillWaits", path: "Sources/CWaits"),

        .target(
            name: "PushmillTestSupport", dependencies: ["PushmillKafka", "CPushmillRdKafka"], path: "Tests/TestSupport",
            swiftSettings: house),
        // Whole runs of several instances over a simulated cluster, each from a seed, and a program that searches among them.
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
        // The service as a process, with stages that misbehave, for tests that kill it.
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

// A build under a sanitizer costs what its tests are: `deploy/test --targets` names some, and these and what they need is
// what there is then.
if let wanted = Context.environment["PUSHMILL_TESTS"]?.split(separator: " ") {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name[...]) }
}
