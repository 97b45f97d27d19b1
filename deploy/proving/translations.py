"""Random catalogs: translations as trees, written as the files of an iOS app and rendered by `oracle.py`."""
import json, plistlib
from collections import namedtuple

# The parts of a translation. Positions count from 1; None is the next argument.
Literal = namedtuple("Literal", "written shown")
Specifier = namedtuple(
    "Specifier", "conversion position flags width precision size", defaults=(None, "", None, None, ""))
Use = namedtuple("Use", "name position")
Own = namedtuple("Own", "")
# The meaning of `%#@name@`; `%arg` stands for `specifier`.
Variable = namedtuple("Variable", "name argument specifier forms")
# Either pieces, or forms selected by a number; `others` are texts for other devices.
Translation = namedtuple("Translation", "pieces forms variables others", defaults=(None, None, (), ()))

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
# Conversions of printf whose arguments a push cannot carry.
UNSERVABLE = "xXoOeEgGaAcCsSp"

WORDS = ["new", "fotos", "Nachricht von", "в", "от", "عن", "חדשות", "件", "条消息", "é", "🎉", "👩‍👩‍👧",
         "\"quoted\"", "a\\b", "two\nlines", "tab\there", "<b>&amp;</b>", "it's", "{0}", "$", "#", "@", "…"]
PERCENTS = [("%%", "%"), ("50%%", "50%"), ("100%, ", "100%, "), ("(5%) ", "(5%) "), ("99%. ", "99%. "),
            ("50 % rabais", "50 % rabais"), ("%%%%", "%%")]
LONG = Specifier("d", size="ll")


def spelled(pieces):
    """A format as written in a file, without the escapes of the file."""
    return "".join(spelled_piece(piece) for piece in pieces)


def spelled_piece(piece):
    if isinstance(piece, Literal):
        return piece.written
    if isinstance(piece, Own):
        return "%arg"
    position = "" if piece.position is None else f"{piece.position}$"
    if isinstance(piece, Use):
        return f"%{position}#@{piece.name}@"
    return f"%{position}{spelled_type(piece)}"


def spelled_type(piece):
    width = "" if piece.width is None else piece.width
    precision = "" if piece.precision is None else f".{piece.precision}"
    return f"{piece.flags}{width}{precision}{piece.size}{piece.conversion}"


class Maker:
    """Generates keys of every kind, whose translations may disagree."""

    def __init__(self, random):
        self.random = random

    def some(self, chance):
        return self.random.random() < chance

    def literal(self):
        if self.some(0.15):
            return Literal(*self.random.choice(PERCENTS))
        word = self.random.choice(WORDS)
        return Literal(word, word)

    def mixed(self, specifiers):
        """Specifiers with words between them, which separate a percent sign in prose from the next letter."""
        pieces = []
        for specifier in specifiers:
            if self.some(0.8):
                pieces += [self.literal(), Literal(" ", " ")]
            pieces.append(specifier)
        return tuple(pieces + [Literal(" ", " "), self.literal()] if self.some(0.7) or not pieces else pieces)

    # Specifiers

    def text(self):
        return Specifier("@")

    def integer(self):
        size = self.random.choice(["", "", "", "l", "ll", "q", "z", "h", "hh", "j", "t"])
        return Specifier(self.random.choice("ddddiuuDU" if not size else "diu"), size=size)

    def fraction(self):
        return Specifier(self.random.choice("fffF"), precision=self.random.choice([None, 0, 1, 2, 2, 2, 3, 8]))

    def of_role(self, role):
        if role != "text" and self.some(0.05):
            return self.text()
        return {"text": self.text, "integer": self.integer, "fraction": self.fraction}[role]()

    def laid_out(self, specifier):
        """Adds flags, width and precision."""
        random = self.random
        width = random.choice([None, 1, 3, 5, 8, 12])
        if specifier.conversion == "@":
            flags = random.choice(["", "-"]) if width else ""
            return specifier._replace(flags=flags, width=width, precision=random.choice([None, None, 1, 2, 5]))
        flags = "".join(random.sample("-0+ '", random.choice([0, 1, 1, 2])))
        precision = random.choice([None, None, 0, 1, 3, 6]) if specifier.precision is None else specifier.precision
        return specifier._replace(flags=flags, width=width, precision=precision)

    def all_or_fewer(self, specifiers):
        specifiers = list(specifiers)
        return specifiers[:-1] if self.some(0.2) else specifiers

    def ordered(self, roles):
        """Specifiers for arguments in order, or by position in any order."""
        specifiers = self.all_or_fewer(map(self.of_role, roles))
        if specifiers and self.some(0.4):
            specifiers = [item._replace(position=place + 1) for place, item in enumerate(specifiers)]
            self.random.shuffle(specifiers)
            if self.some(0.2):
                specifiers.append(specifiers[0])
            if self.some(0.2):
                specifiers = specifiers[1:]
        return specifiers

    # Plurals

    def forms(self, specifiers):
        """`specifiers` generates the specifiers of one form."""
        kept = [name for name in CATEGORIES[:-1] if self.some(0.5)] + ["other"]
        return {name: self.mixed(specifiers()) for name in kept}

    def variable(self, name, argument):
        specifier = self.random.choice(["d", "ld", "lld", "u", "@", ".1f", None])

        def specifiers():
            number = self.random.choice([
                Specifier("d"), LONG, Specifier("@"), Specifier("f", precision=1), Own(), Own(), None])
            return [] if number is None else [number]

        return Variable(name, argument, specifier, self.forms(specifiers))

    # Keys: each returns the roles of its arguments, and a function that generates one of its translations

    def plain(self, *roles):
        return list(roles), lambda: Translation(self.mixed(self.ordered(roles)))

    def key(self, kind):
        random, mixed = self.random, self.mixed
        if kind == "prose":
            return [], lambda: Translation(mixed([]))
        if kind == "%@":
            return self.plain(*["text"] * random.choice([1, 1, 2, 3]))
        if kind in ("%d", "%lld", "%u"):
            size = "ll" if kind == "%lld" else ""
            return ["integer"], lambda: Translation(mixed([Specifier(kind[-1], size=size)]))
        if kind == "%x":
            def unservable():
                specifier = Specifier(random.choice(UNSERVABLE))
                return Translation(mixed([random.choice([
                    specifier, specifier, specifier._replace(flags="#"), Specifier("*d")])]))
            return ["integer", "integer"], unservable
        if kind == "%f":
            return ["fraction"], lambda: Translation(mixed([Specifier("f")]))
        if kind == "%.2f":
            return ["fraction"], lambda: Translation(mixed([Specifier("f", precision=2)]))
        if kind == "positions":
            return self.plain(*[random.choice(["text", "integer", "fraction"]) for _ in range(random.randint(2, 4))])
        if kind == "layouts":
            roles = [random.choice(["text", "integer", "integer", "fraction"]) for _ in range(random.randint(1, 2))]
            return roles, lambda: Translation(mixed([self.laid_out(item) for item in self.ordered(roles)]))
        if kind == "plurals":
            # "%@ sent %lld photos": the first number selects the form.
            roles = random.choice([["integer"], ["text", "integer"], ["integer", "text"], ["fraction"]])
            return roles, lambda: Translation(None, self.forms(lambda: self.all_or_fewer(map(self.of_role, roles))))
        if kind == "devices":
            def devices():
                chosen = Translation(mixed(self.ordered(["text"])))
                if self.some(0.5):
                    chosen = Translation(None, self.forms(lambda: [LONG]))
                return chosen._replace(others=(mixed([]), mixed([self.text()])))
            return ["integer"], devices
        return getattr(self, kind.replace(" ", "_"))()

    def variables(self):
        def translation():
            variable = self.variable("n", None)
            pieces = self.random.choice(
                [[self.text(), Use("n", None)], [Use("n", 2), Specifier("@", 1)], [Use("n", 2)]])
            return Translation(self.mixed(pieces), None, (variable,))
        return ["text", "integer"], translation

    def several_variables(self):
        def translation():
            variables = (self.variable("a", None), self.variable("b", None))
            return Translation(self.mixed([Use("a", None), Use("b", None), self.text()]), None, variables)
        return ["integer", "integer", "text"], translation

    def nested_variables(self):
        def translation():
            inner = self.variable("inner", None)
            outer = Variable("outer", None, "d", self.forms(
                lambda: self.all_or_fewer([Specifier("d"), Use("inner", None)])))
            return Translation(self.mixed([Use("outer", None)]), None, (outer, inner))
        return ["integer", "integer"], translation

    def substitutions(self):
        def translation():
            variables = (self.variable("first", self.random.choice([1, None])), self.variable("other one", 2))
            pieces = [Use("first", None), Use("other one", None)]
            if self.some(0.5):
                pieces.append(Specifier("@", self.random.choice([None, 3])))
            return Translation(self.mixed(pieces), None, variables)
        return ["integer", "integer", "text"], translation


# The kinds, with the files that support them.
PLAIN = ["prose", "%@", "%d", "%lld", "%u", "%x", "%f", "%.2f", "positions", "layouts"]
KINDS = {kind: ["strings", "xcstrings"] for kind in PLAIN}
KINDS |= {kind: ["stringsdict"] for kind in ("variables", "several variables", "nested variables")}
KINDS |= {kind: ["xcstrings"] for kind in ("plurals", "devices", "substitutions")}


class Catalog:
    """Keys of every kind in several localizations; the first one is the default."""

    def __init__(self, random, localizations, count):
        self.localizations, self.keys, self.tables = localizations, {}, {name: {} for name in localizations}
        self.files = {"strings": [], "stringsdict": [], "xcstrings": []}
        maker = Maker(random)
        for number in range(count):
            kind = random.choice(list(KINDS))
            key = f"{kind.replace('%', '')} {number}"
            roles, translation = maker.key(kind)
            self.keys[key] = (kind, roles)
            self.files[random.choice(KINDS[kind])].append(key)
            for place, name in enumerate(localizations):
                # Missing texts come from the default.
                if place == 0 or random.random() < 0.9:
                    self.tables[name][key] = translation()

    def write(self, folder, random):
        for name in self.localizations:
            place = folder / f"{name}.lproj"
            place.mkdir(parents=True)
            table = self.tables[name]
            lines = [(key, table[key].pieces) for key in self.files["strings"] if key in table]
            strings = "".join(f"{quoted(key)} = {quoted(spelled(pieces))};\n" for key, pieces in lines)
            encoding = random.choice(["utf-8", "utf-8-sig", "utf-16"])
            (place / "Localizable.strings").write_bytes(strings.encode(encoding))
            entries = {key: stringsdict_entry(table[key]) for key in self.files["stringsdict"] if key in table}
            form = random.choice([plistlib.FMT_XML, plistlib.FMT_BINARY])
            (place / "Localizable.stringsdict").write_bytes(plistlib.dumps(entries, fmt=form))
        strings = {}
        for key in self.files["xcstrings"]:
            present = [name for name in self.localizations if key in self.tables[name]]
            strings[key] = {"localizations": {name: xcstrings_entry(self.tables[name][key]) for name in present}}
        content = {"sourceLanguage": self.localizations[0], "strings": strings, "version": "1.0"}
        written = json.dumps(content, ensure_ascii=random.random() < 0.5)
        (folder / "Localizable.xcstrings").write_text(written, "utf-8")


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def stringsdict_entry(translation):
    entry = {"NSStringLocalizedFormatKey": spelled(translation.pieces)}
    for variable in translation.variables:
        forms = {name: spelled(pieces) for name, pieces in variable.forms.items()}
        forms["NSStringFormatSpecTypeKey"] = "NSStringPluralRuleType"
        if variable.specifier is not None:
            forms["NSStringFormatValueTypeKey"] = variable.specifier
        entry[variable.name] = forms
    return entry


def unit(pieces):
    return {"stringUnit": {"state": "translated", "value": spelled(pieces)}}


def plural(forms):
    return {"variations": {"plural": {name: unit(pieces) for name, pieces in forms.items()}}}


def xcstrings_entry(translation):
    entry = unit(translation.pieces) if translation.forms is None else plural(translation.forms)
    if translation.others:
        mac, other = translation.others
        devices = {"mac": unit(mac), "other": unit(other), "iphone": entry}
        return {"variations": {"device": devices}}
    for variable in translation.variables:
        substitution = plural(variable.forms)
        if variable.argument is not None:
            substitution["argNum"] = variable.argument
        if variable.specifier is not None:
            substitution["formatSpecifier"] = variable.specifier
        entry.setdefault("substitutions", {})[variable.name] = substitution
    return entry
