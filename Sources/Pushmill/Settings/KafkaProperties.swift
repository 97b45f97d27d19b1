import PushmillKafka
import PushmillStages

/// What librdkafka says to a property in its section.
package enum KafkaProperties {
    package static func problem(_ section: KafkaSettings.Section, _ name: String, _ value: String) -> String? {
        let known = KnownProperty.all.first { $0.name == name }
        if let refusal = ClientProperties.problem(with: name, value: value) {
            guard known == nil else { return refusal }
            let candidates = KnownProperty.all.lazy.map(\.name)
            return "librdkafka has no such property" + Spelling.question(name, candidates)
        }
        switch section {
        case .consumer where known?.isForConsumers == false: return "is a property of producers"
        case .producer where known?.isForProducers == false: return "is a property of consumers"
        default: return nil
        }
    }
}
