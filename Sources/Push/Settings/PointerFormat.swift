extension SettingFormat where Value == String {
    /// A JSON Pointer (RFC 6901) to a member, such as `/aps/alert/body`.
    public static var pointer: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let tokens = text.split(separator: "/", omittingEmptySubsequences: false)
                let escapes = text.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
                guard tokens.count > 1, tokens[0].isEmpty, escapes.allSatisfy({ $0.first == "0" || $0.first == "1" })
                else { throw SettingMismatch(expected: "a JSON Pointer such as /aps/alert/body") }
                return text
            }, render: { $0 })
    }
}
