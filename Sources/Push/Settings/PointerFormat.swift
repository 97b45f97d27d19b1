extension SettingFormat where Value == JSONPointer {
    public static var pointer: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                // The whole document is no member of one.
                guard !text.isEmpty, let pointer = JSONPointer(text) else {
                    throw SettingMismatch(expected: "a JSON Pointer such as /aps/alert/body")
                }
                return pointer
            }, render: \.description)
    }
}
