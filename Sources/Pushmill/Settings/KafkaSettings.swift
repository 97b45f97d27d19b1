import PushmillKafka
package import PushmillStages

/// Properties for librdkafka by its own names, defaults included.
package struct KafkaSettings: Sendable {
    package enum Section: String, Sendable {
        case common = "kafka"
        case consumer = "kafka.consumer"
        case producer = "kafka.producer"
    }

    package let common: [SettingProperty]
    package let consumer: [SettingProperty]
    package let producer: [SettingProperty]

    /// The broker is to run in this process.
    package var isEmbedded: Bool { common.contains { $0.name == "bootstrap.servers" && $0.value == "embedded" } }

    init(from settings: inout SettingReader) {
        let common = settings.properties(
            besides: ["consumer", "producer"], defaults: KafkaDefaults.common, format: KafkaSettings.format)
        func read(_ key: String, _ defaults: [(name: String, value: String)]) -> [SettingProperty] {
            // What is set for both clients is not undone by a default for one of them.
            let open = defaults.filter { standard in !common.contains { $0.name == standard.name } }
            return settings.map(key) { $0.properties(defaults: open, format: KafkaSettings.format) }
        }
        self.common = common
        consumer = read("consumer", KafkaDefaults.consumer)
        producer = read("producer", KafkaDefaults.producer)
    }

    /// What a section's client is configured with, secrets read from their files.
    func client(_ section: Section) throws(ProgramError) -> ClientProperties {
        var entries: [(name: String, value: String)] = []
        for property in properties(for: section) {
            guard let secret = Self.secret(ofFile: property.name) else {
                entries.append((property.name, property.value))
                continue
            }
            do throws(SecretText.Problem) {
                entries.append((secret, try SecretText.read(property.value)))
            } catch {
                throw .unreadableConfiguration("kafka.\(property.name): \(error)")
            }
        }
        return ClientProperties(entries)
    }

    /// The secret property that a `…-file` stands for; nil where it is none.
    static func secret(ofFile name: String) -> String? {
        guard name.hasSuffix(fileSuffix) else { return nil }
        let secret = String(name.dropLast(fileSuffix.count))
        return isSecret(secret) ? secret : nil
    }

    private static let fileSuffix = "-file"

    private static func isSecret(_ name: String) -> Bool {
        ["password", "secret", ".pem", "oauthbearer.config"].contains(where: name.contains)
    }

    /// What a section's client gets: the common properties, then its own, which may replace them.
    package func properties(for section: Section) -> [SettingProperty] {
        switch section {
        case .common: common
        case .consumer: common + consumer
        case .producer: common + producer
        }
    }

    /// Milliseconds. An instance that is gone holds up its partitions, and who reads the outputs, for so long.
    package var transactionTimeout: Int {
        let own = properties(for: .producer).last { $0.name == "transaction.timeout.ms" }
        return own.flatMap { Int($0.value) } ?? 10_000
    }

    private static func format(_ name: String) -> SettingFormat<String> {
        if secret(ofFile: name) != nil { return .file }
        if isSecret(name) { return .text.hidden }
        let isFile = name.hasSuffix(".location") || name.hasSuffix(".keytab")
        // `probe` makes librdkafka look where systems keep their certificates.
        return isFile ? .file(besides: ["probe"]) : .text
    }
}
