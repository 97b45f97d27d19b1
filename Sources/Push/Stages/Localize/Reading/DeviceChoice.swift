/// Which of the texts for several devices is taken: these are notifications for iPhones.
enum DeviceChoice {
    static func preferred<Value>(of variations: [(name: String, value: Value)]) -> Value? {
        for name in ["iphone", "other"] {
            if let match = variations.first(where: { $0.name == name }) { return match.value }
        }
        return variations.first?.value
    }
}
