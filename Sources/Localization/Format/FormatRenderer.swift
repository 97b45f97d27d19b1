import PushmillPayload

extension LocaleTable {
    /// Appends the text, with `regional` numbers if given. False, with only a part appended, for an argument of the
    /// wrong kind or an unservable piece. All arguments that the compiler counted must be there.
    func append(
        program: UInt32, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        var at = Int(program)
        while true {
            let piece = contents.programs.pieces[at]
            at += 1
            switch piece.kind {
            case .end:
                return true
            case .literal:
                contents.programs.text.withUnsafeBufferPointer { text in
                    let start = Int(piece.start)
                    output.append(UnsafeBufferPointer(rebasing: text[start..<start + Int(piece.count)]))
                }
            case .text:
                append(arguments[Int(piece.argument)].bytes, piece.layout, to: &output)
            case .integer:
                guard case .integer(let magnitude, let isNegative)? = arguments[Int(piece.argument)].number
                else { return false }
                // Not `regional ?? numbers`, which would retain the result.
                if let regional {
                    regional.append(magnitude, isNegative: isNegative, piece.layout, to: &output)
                } else {
                    numbers.append(magnitude, isNegative: isNegative, piece.layout, to: &output)
                }
            case .float:
                guard let number = arguments[Int(piece.argument)].number else { return false }
                (regional ?? numbers).append(number.value, piece.layout, to: &output)
            case .plural:
                let form = form(for: arguments[Int(piece.argument)].number, from: Int(piece.start))
                guard append(program: form, arguments, regional, to: &output) else { return false }
            case .unservable:
                return false
            }
        }
    }

    /// A form for zero serves 0 in every language. A missing form, or an argument that is no number, means `other`.
    private func form(for number: FormatNumber?, from start: Int) -> UInt32 {
        let other = contents.programs.choices[start + Int(PluralCategory.other.rawValue)]
        guard let number else { return other }
        let zero = contents.programs.choices[start + Int(PluralCategory.zero.rawValue)]
        if zero != FormatPrograms.absent, number.value == 0 { return zero }
        let form = contents.programs.choices[start + Int(rules.category(of: number).rawValue)]
        return form != FormatPrograms.absent ? form : other
    }

    private func append(_ text: UnsafeBufferPointer<UInt8>, _ layout: FormatLayout, to output: inout FormatOutput) {
        guard layout.width > 0 || layout.precision != nil else {
            return output.append(text)
        }
        // An `Int`, because the largest precision as the default would cut a text that has only a width.
        let limit = layout.precision.map { Int($0) } ?? Int.max
        let scalars = String(decoding: text, as: UTF8.self).unicodeScalars.prefix(limit)
        let padding = max(0, Int(layout.width) - scalars.count)
        if !layout.isLeft { output.appendSpaces(padding) }
        output.append(Array(String(scalars).utf8))
        if layout.isLeft { output.appendSpaces(padding) }
    }
}

/// An argument of a localization, in UTF-8. Its spelling makes it a number, in quotes or not.
package struct FormatArgument {
    /// The highest position.
    static let maximumCount = 32

    let bytes: UnsafeBufferPointer<UInt8>

    var number: FormatNumber? { FormatNumber(bytes) }
}

/// A number read from a text such as `-12`, `1.5` or `1e3`.
enum FormatNumber {
    case integer(magnitude: UInt64, isNegative: Bool)
    case fraction(Double)

    init?(_ text: UnsafeBufferPointer<UInt8>) {
        let signs = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? 1 : 0
        if let magnitude = DecimalText.read(text[signs...]) {
            self = .integer(magnitude: magnitude, isNegative: text[0] == UInt8(ascii: "-") && magnitude > 0)
            return
        }
        // `Double` would read `inf`, `nan` and hexadecimal as well.
        guard text.count < 400, text.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
            let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else { return nil }
        // Whole values are integers, as far as a double is exact.
        let isWhole = value == value.rounded() && abs(value) < 0x1p53
        self = isWhole ? .integer(magnitude: UInt64(abs(value)), isNegative: value < 0) : .fraction(value)
    }

    var value: Double {
        switch self {
        case .integer(let magnitude, let isNegative): isNegative ? -Double(magnitude) : Double(magnitude)
        case .fraction(let value): value
        }
    }
}

/// Text put together in borrowed memory. What does not fit is not written and sets `isFull`.
package struct FormatOutput: ~Copyable {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var count = 0
    /// The text was cut: more memory is needed.
    package private(set) var isFull = false

    package init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

    /// Valid as long as the memory.
    package var text: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: memory[..<count]) }

    mutating func append(_ byte: UInt8) {
        guard count < memory.count else { return isFull = true }
        memory[count] = byte
        count += 1
    }

    package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= memory.count - count else { return isFull = true }
        guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
        (base + count).update(from: source, count: bytes.count)
        count += bytes.count
    }

    /// Appends as much of the text as there is room for, without splitting the encoding of a character.
    package mutating func append(startOf text: UnsafeBufferPointer<UInt8>) {
        var room = min(text.count, memory.count - count)
        guard room < text.count else { return append(text) }
        while room > 0, text[room] & 0xC0 == 0x80 { room -= 1 }
        append(UnsafeBufferPointer(rebasing: text[..<room]))
        isFull = true
    }

    mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    package mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func appendSpaces(_ number: Int) {
        for _ in 0..<number { append(UInt8(ascii: " ")) }
    }
}
