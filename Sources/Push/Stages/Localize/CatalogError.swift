/// One thing that is wrong with a catalog, and where. Lines and columns (in characters) count from 1; a problem of a
/// whole file has none.
package struct CatalogProblem: Error, Sendable, Equatable {
    package let file: String
    package let place: SourcePlace?
    package let message: String

    package init(file: String, place: SourcePlace? = nil, message: String) {
        self.file = file
        self.place = place
        self.message = message
    }
}

/// A line and a column, both from 1.
package struct SourcePlace: Sendable, Equatable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

extension CatalogProblem: CustomStringConvertible {
    package var description: String {
        guard let place else { return "\(file): \(message)" }
        return "\(file):\(place.line):\(place.column): \(message)"
    }
}

/// Why a catalog was not loaded: everything found, in the order of the files.
package struct CatalogError: Error, Sendable, CustomStringConvertible {
    package let problems: [CatalogProblem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
