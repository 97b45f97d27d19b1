/// Runs compiled formats.
struct FormatRenderer {
    let programs: FormatPrograms
    let rules: PluralRules
    let numbers: NumberSymbols

    /// Appends the text, its numbers as a region writes them if one is given. False, with only a part appended, where an
    /// argument is not of the kind that the format needs; there must be as many as the format's signature says.
    func append(
        program: UInt32, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        var at = Int(program)
        while true {
            let piece = programs.pieces[at]
            at += 1
            switch piece.kind {
            case .end:
                return true
            case .literal:
                programs.text.withUnsafeBufferPointer { text in
                    let start = Int(piece.start)
                    output.append(UnsafeBufferPointer(rebasing: text[start..<start + Int(piece.count)]))
                }
            case .text:
                append(arguments[Int(piece.argument)].bytes, piece.layout, to: &output)
            case .integer:
                guard case .integer(let magnitude, let isNegative)? = arguments[Int(piece.argument)].number
                else { return false }
                (regional ?? numbers).append(magnitude, isNegative: isNegative, piece.layout, to: &output)
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

    /// A form for zero serves 0 in every language; what has no form of its own, or is no number, takes `other`.
    private func form(for number: FormatNumber?, from start: Int) -> UInt32 {
        let other = programs.choices[start + Int(PluralCategory.other.rawValue)]
        guard let number else { return other }
        let zero = programs.choices[start + Int(PluralCategory.zero.rawValue)]
        if zero != FormatPrograms.absent, number.isZero { return zero }
        let form = programs.choices[start + Int(number.category(by: rules).rawValue)]
        return form != FormatPrograms.absent ? form : other
    }

    private func append(_ text: UnsafeBufferPointer<UInt8>, _ layout: FormatLayout, to output: inout FormatOutput) {
        guard layout.width > 0 || layout.precision != nil else {
            return output.append(text)
        }
        let scalars = String(decoding: text, as: UTF8.self).unicodeScalars.prefix(Int(layout.precision ?? .max))
        let padding = max(0, Int(layout.width) - scalars.count)
        if !layout.isLeft { output.appendSpaces(padding) }
        output.append(Array(String(scalars).utf8))
        if layout.isLeft { output.appendSpaces(padding) }
    }
}
