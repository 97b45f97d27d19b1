/// Compiles one translation. Variables are compiled where they are used, because their arguments depend on the place. A
/// text with a specifier that is unknown, or that no push can carry, is left to the device: a catalog holds all texts
/// of an app, and some are formats for other functions than those of strings.
struct FormatCompiler {
    /// Limits of nested expansion and of its result, since a variable may name the next one many times.
    private static let maximumDepth = 8
    private static let maximumPieces = 4096
    private static let maximumBytes = 1 << 20

    private let template: Template
    private let source: SourceText
    private var programs: FormatPrograms
    private var argumentCount = 0
    private var warnings: [CatalogProblem] = []
    private var pieceCount = 0
    private var byteCount = 0

    static func compile(
        _ template: Template, from source: SourceText, into programs: inout FormatPrograms,
        warnings: inout [CatalogProblem]
    ) throws(CatalogProblem) -> (program: UInt32, argumentCount: Int) {
        var compiler = FormatCompiler(template: template, source: source, programs: exchange(&programs, with: .init()))
        defer { programs = compiler.programs }
        let program = try compiler.compile(template.text)
        warnings += compiler.warnings
        return (program, compiler.argumentCount)
    }

    private mutating func compile(_ text: Template.Text) throws(CatalogProblem) -> UInt32 {
        switch text {
        case .plain(let text):
            return try compile(text, Context())
        case .plural(let forms):
            let plural = try compile(forms, argument: nil, Context())
            return programs.append(program: [plural])
        }
    }

    /// Where a format is used: the argument of its first specifier without a position, and the variables around it.
    private struct Context {
        var argument = 0
        var path: [Template.Variable] = []
    }

    private mutating func compile(_ format: SourceString, _ context: Context) throws(CatalogProblem) -> UInt32 {
        let text = format.bytes
        byteCount += text.count
        guard byteCount <= Self.maximumBytes else {
            throw source.problem(at: format.offset, "the expanded variables are too large")
        }
        var pieces: [FormatPiece] = []
        var argument = context.argument
        var literal: [UInt8] = []
        var at = text.startIndex

        func flush(_ programs: inout FormatPrograms) {
            guard !literal.isEmpty else { return }
            let start = programs.append(literal)
            pieces.append(FormatPiece(kind: .literal, start: start, count: UInt32(literal.count)))
            literal.removeAll(keepingCapacity: true)
        }

        while let percent = text[at...].firstIndex(of: UInt8(ascii: "%")) {
            literal += text[at..<percent]
            at = percent + 1
            switch FormatSpecifier.parse(text, at: at) {
            case .literal:
                literal.append(UInt8(ascii: "%"))
            case .unknown(let specifier):
                warn(specifier, at: format.offset)
                flush(&programs)
                pieces.append(FormatPiece(kind: .unservable))
            case .specifier(let specifier, let end):
                at = end
                if case .percent = specifier.conversion {
                    literal.append(UInt8(ascii: "%"))
                    continue
                }
                flush(&programs)
                pieces.append(try piece(for: specifier, &argument, in: format, context))
            }
        }
        literal += text[at...]
        flush(&programs)
        pieceCount += pieces.count
        guard pieceCount <= Self.maximumPieces else {
            throw source.problem(at: format.offset, "the expanded variables are too large")
        }
        return programs.append(program: pieces)
    }

    private mutating func warn(_ specifier: String, at offset: Int) {
        let warning = source.problem(at: offset, "unknown specifier \(specifier): the text is left to the device")
        // A text that is expanded many times is reported once.
        if warnings.last != warning { warnings.append(warning) }
    }

    /// `argument` is the next one in order, from 0.
    private mutating func piece(
        for specifier: FormatSpecifier, _ argument: inout Int, in format: SourceString, _ context: Context
    ) throws(CatalogProblem) -> FormatPiece {
        if case .variable(let name) = specifier.conversion {
            let variable = try variable(named: name, in: format, context)
            let position = specifier.position ?? variable.argument
            let index = position.map { $0 - 1 } ?? argument
            argument = position == nil ? index + 1 : max(argument, index + 1)
            let inner = Context(argument: index, path: context.path + [variable])
            return try compile(variable.forms, argument: try counted(index, format), inner)
        }
        var specifier = specifier
        if case .argument = specifier.conversion {
            guard let variable = context.path.last, let argument = try argumentSpecifier(of: variable, format) else {
                return FormatPiece(kind: .unservable)
            }
            specifier = argument
            specifier.position = context.argument + 1
        }
        let index = specifier.position.map { $0 - 1 } ?? argument
        if specifier.position == nil { argument += 1 }
        guard case .piece(let kind) = specifier.conversion, kind != .unservable else {
            return FormatPiece(kind: .unservable)
        }
        return FormatPiece(kind: kind, argument: UInt8(try counted(index, format)), layout: specifier.layout)
    }

    private mutating func counted(_ index: Int, _ format: SourceString) throws(CatalogProblem) -> Int {
        guard index < FormatArgument.maximumCount else {
            throw source.problem(at: format.offset, "more than \(FormatArgument.maximumCount) arguments")
        }
        argumentCount = max(argumentCount, index + 1)
        return index
    }

    /// Chosen by the argument or, for forms without a variable of their own, by the first number in `other`.
    private mutating func compile(
        _ forms: PluralForms, argument: Int?, _ context: Context
    ) throws(CatalogProblem) -> FormatPiece {
        let starts = try PluralCategory.allCases.map { (category) throws(CatalogProblem) in
            if let form = forms[category] { try compile(form, context) } else { FormatPrograms.absent }
        }
        let argument = argument ?? firstNumber(from: starts[Int(PluralCategory.other.rawValue)])
        argumentCount = max(argumentCount, argument + 1)
        return FormatPiece(kind: .plural, argument: UInt8(argument), start: programs.append(choices: starts))
    }

    private func variable(
        named name: ArraySlice<UInt8>, in format: SourceString, _ context: Context
    ) throws(CatalogProblem) -> Template.Variable {
        guard let variable = template.variables.first(where: { $0.name.bytes == name }) else {
            let name = String(decoding: name, as: UTF8.self)
            throw source.problem(at: format.offset, "%#@\(name)@ names no variable of this key")
        }
        guard !context.path.contains(where: { $0.name.bytes == name }) else {
            throw source.problem(at: format.offset, "the variable \(variable.name.string) contains itself")
        }
        guard context.path.count < Self.maximumDepth else {
            throw source.problem(at: format.offset, "variables are nested deeper than \(Self.maximumDepth)")
        }
        return variable
    }

    /// What `%arg` stands for; nil for a value type that no push can serve.
    private mutating func argumentSpecifier(
        of variable: Template.Variable, _ format: SourceString
    ) throws(CatalogProblem) -> FormatSpecifier? {
        guard let text = variable.specifier else { return FormatSpecifier(conversion: .piece(.integer)) }
        guard case .specifier(let specifier, let end) = FormatSpecifier.parse(text.bytes, at: text.bytes.startIndex),
            end == text.bytes.endIndex
        else {
            warn("%\(text.string)", at: text.offset)
            return nil
        }
        switch specifier.conversion {
        case .piece(.unservable): return nil
        case .piece: return specifier
        case .percent, .variable, .argument:
            throw source.problem(at: text.offset, "%\(text.string) is not a value type")
        }
    }

    /// The argument of a program's first number; the first argument if there is no number.
    private func firstNumber(from program: UInt32) -> Int {
        let pieces = programs.pieces[Int(program)...].prefix { $0.kind != .end }
        return pieces.first { $0.kind == .integer || $0.kind == .float }.map { Int($0.argument) } ?? 0
    }
}
