@testable import PushmillLocalization

/// Any file reads as translations or as a list of problems, and the translations localize with any arguments.
final class CatalogTarget: FuzzTarget {
    static let names = ["strings", "stringsdict", "xcstrings"]

    private let path: String
    private let locale: LocaleName?

    init(_ name: String) {
        path = "a.\(name)"
        locale = name == "xcstrings" ? nil : .english
    }

    func run(_ bytes: [UInt8]) throws {
        var reader = CatalogReader()
        reader.read(bytes, of: path, locale: locale)
        for table in reader.finish("") {
            let catalog = try Catalog([table], of: "", defaultLocale: table.locale)
            for (key, _) in table.keys.prefix(10) {
                for count in 0...3 { try localize(Array(key), Self.arguments.prefix(count), catalog) }
            }
        }
        for problem in reader.problems { try promise(!problem.description.isEmpty, "refused without a reason") }
    }

    private func localize(_ key: [UInt8], _ arguments: ArraySlice<StaticString>, _ catalog: Catalog) throws {
        let arguments = arguments.map {
            FormatArgument(bytes: UnsafeBufferPointer(start: $0.utf8Start, count: $0.utf8CodeUnitCount))
        }
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 12) { memory in
            var output = FormatOutput(memory)
            let result = arguments.withUnsafeBufferPointer { arguments in
                key.withUnsafeBufferPointer { catalog.defaultChoice.localize($0, arguments, to: &output) }
            }
            try promise(result != .missing, "a key is not found again")
            guard result == .ok, !output.isFull else { return }
            try promise(String(validating: output.text, as: UTF8.self) != nil, "a translation that is no text")
        }
    }

    private static let arguments: [StaticString] = ["1", "99999999999999999999", "é"]
}
