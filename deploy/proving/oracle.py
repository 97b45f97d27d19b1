"""What a reader should see of a translation: the numerals of ICU, by PyICU; plurals by Babel; the rest as Apple
documents it, but for what `DIFFERENCES` names. It reads no format: translations come as trees."""
import contextlib, decimal, functools, math, re
import babel, icu
from translations import Literal, Own, Specifier, UNSERVABLE, Use

# Where Pushmill writes something else than CoreFoundation, or Babel, would, and why.
DIFFERENCES = {
    "no argument of a push":
        "%x, %e, %c, %s and the like: the arguments of a push are texts and have no such type, so the key is left to "
        "the device",
    "all forms count":
        "a plural needs the arguments of all its forms, also of those that are not chosen: whether a producer sends "
        "enough must not depend on the number",
    "C types":
        "a number is not cut to the width of a C type, which it never had, as %d, %hd and %u cut it",
    "printf's rounding":
        "%.2f rounds what the number is in binary, as IEEE printf does to which Apple's documents refer; "
        "CoreFoundation rounds its shortest decimal spelling, half to even",
    "codes":
        "what is filled up with zeros has no groups and is as wide as it says: 00042, where CoreFoundation writes "
        "00,042, which is a code torn apart",
    "blanks":
        "% d leaves a blank in the place of a plus sign, as printf does; CoreFoundation ignores it",
    "characters":
        "the width and precision of %@ count characters; CoreFoundation counts UTF-16 units and may cut an emoji in "
        "half",
    "ICU's sight":
        "ICU, which is asked here as on a device, takes the decimals of a plural's fraction from 16 digits of its "
        "binary value and may see 76.13420000000001 for 76.1342: where the last decimals count, as in Croatian and "
        "Latvian, Babel then has another form",
}

ALIASES = {"iw": "he", "in": "id", "kmr": "ku", "tl": "fil", "sh": "sr_Latn", "mo": "ro", "no": "nb"}
SIZES = {"": 32, "h": 16, "hh": 8}


class Refused(Exception):
    """The arguments are not what the translation needs."""


def canonical(tag):
    language, *rest = tag.replace("-", "_").split("_")
    return "_".join([ALIASES.get(language, language), *rest])


def language_of(tag):
    return canonical(tag).split("_")[0]


def region_of(tag):
    return next((part for part in canonical(tag).split("_")[1:] if len(part) in (2, 3)), None)


@functools.cache
def plural_form(tag):
    # Of the languages here only Portuguese has other plurals in another country.
    name = "pt_PT" if tag == "pt-PT" else language_of(tag)
    return functools.cache(babel.Locale.parse(name).plural_form)


@functools.cache
def plural_rules(tag):
    return icu.PluralRules.forLocale(icu.Locale(canonical(tag)))


@functools.cache
def numerals(tag, is_grouped, fraction, least, has_plus):
    groups = icu.UNumberGroupingStrategy
    # Not `AUTO`, which leaves 1234 alone in Spanish and Polish: CoreFoundation's formatter does not.
    formatter = icu.NumberFormatter.withLocale(icu.Locale(canonical(tag))).grouping(
        groups.ON_ALIGNED if is_grouped else groups.OFF).precision(icu.Precision.fixedFraction(fraction))
    formatter = formatter.integerWidth(icu.IntegerWidth.zeroFillTo(least))
    return formatter.sign(icu.UNumberSignDisplay.ALWAYS) if has_plus else formatter


def number(text):
    """An integer or a float by how a text is spelled; none for any other."""
    if re.fullmatch(r"[+-]?[0-9]+", text) and abs(int(text)) < 1 << 64:
        return int(text)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    value = float(text)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


class Oracle:
    """Its methods are the rules, each of which `FAULTS` breaks in turn."""

    def __init__(self):
        # Names of the differences that the last text had.
        self.differences = set()

    # Which translation, and whose numerals

    def choose(self, wishes, localizations):
        """The localization, and the wish that it serves. Wishes come with their weights and what would serve them."""
        for tag, _, name in sorted(wishes, key=lambda wish: -wish[1]):
            if name in localizations:
                return name, tag
        return localizations[0], None

    def numerals_of(self, localization, wish):
        """Those of the recipient's region where its language is the text's."""
        is_own = wish is not None and region_of(wish) is not None and language_of(wish) == language_of(localization)
        return wish if is_own else localization

    def text(self, catalog, key, arguments, wishes):
        """None where the key is left to the device. Of the arguments, None is what is neither text nor number."""
        self.differences.clear()
        name, wish = self.choose(wishes, catalog.localizations)
        # What it lacks is the default's.
        name = name if key in catalog.tables[name] else catalog.localizations[0]
        try:
            return self.render(catalog.tables[name][key], self.usable(arguments), name, self.numerals_of(name, wish))
        except Refused:
            return None

    # Arguments

    def usable(self, arguments):
        """Those up to the first that is neither text nor number."""
        return arguments[:arguments.index(None)] if None in arguments else arguments

    def render(self, translation, arguments, language, numerals):
        run = Run(self, translation, arguments, language, numerals)
        if translation.forms is None:
            needed, shown = run.needed(translation.pieces, 0), lambda: run.shown(translation.pieces, 0)
        else:
            chooser = self.chooser(translation.forms["other"])
            needed = max(chooser + 1, *(run.needed(form, 0) for form in translation.forms.values()))
            shown = lambda: run.shown(run.form(translation.forms, chooser), 0)
        try:
            self.expect(arguments, needed, run)
        except Refused:
            with contextlib.suppress(Refused, IndexError):
                shown()
                self.note("all forms count", len(arguments) < needed)
            raise
        return shown()

    def expect(self, arguments, needed, run):
        """Too few are refused; what is over is ignored."""
        if len(arguments) < needed:
            raise Refused

    def chooser(self, pieces):
        """The first number of a plural without a variable."""
        at = 0
        for piece in pieces:
            if isinstance(piece, Specifier):
                index = at if piece.position is None else piece.position - 1
                if piece.conversion in "diuDUfF":
                    return index
                at += piece.position is None
        return 0

    def index(self, position, at):
        """Of an argument, and of the one that is next after it."""
        return (at, at + 1) if position is None else (position - 1, at)

    def index_of_variable(self, position, at):
        return (at, at + 1) if position is None else (position - 1, max(at, position))

    def first_within(self, index):
        """What a specifier without a position refers to within a variable's forms."""
        return index

    # Plurals

    def category(self, value, language):
        if isinstance(value, int) or value.is_integer():
            return plural_form(language)(decimal.Decimal(abs(int(value))))
        seen = plural_rules(language).select(abs(value))
        self.note("ICU's sight", seen != plural_form(language)(decimal.Decimal(repr(abs(value)))))
        return seen

    def chosen(self, forms, argument, language):
        """A form for zero serves 0 in every language; what is no number takes `other`."""
        value = number(argument)
        if value is None:
            return "other"
        if value == 0 and "zero" in forms:
            return "zero"
        name = self.category(value, language)
        return name if name in forms else "other"

    def own(self, variable):
        """What %arg stands for."""
        if variable.specifier is None:
            return Specifier("d")
        precision, conversion = re.fullmatch(r"(?:\.(\d))?l*(\w|@)", variable.specifier).groups()
        return Specifier(conversion, precision=None if precision is None else int(precision))

    # Specifiers

    def literal(self, piece):
        return piece.shown

    def specifier(self, piece, argument, tag):
        if piece.conversion == "@":
            return self.words(piece, argument)
        value = number(argument)
        if piece.conversion in "fF":
            if value is None:
                raise Refused
            return self.fraction(piece, float(value), tag)
        if not isinstance(value, int):
            raise Refused
        return self.integer(piece, value, tag)

    def words(self, piece, argument):
        text = argument if piece.precision is None else argument[:piece.precision]
        text = self.padded(piece, text)
        if piece.width is not None or piece.precision is not None:
            self.note("characters", any(ord(character) > 0xffff for character in argument))
        return text

    def integer(self, piece, value, tag):
        bits = SIZES.get(piece.size, 64)
        is_unsigned = piece.conversion in "uU"
        low, high = (0, 1 << bits) if is_unsigned else (-1 << bits - 1, 1 << bits - 1)
        self.note("C types", not low <= value < high)
        least = 1 if piece.precision is None else piece.precision
        return self.numeral(piece, str(value), 0, least, tag, fills=piece.precision is None)

    def fraction(self, piece, value, tag):
        digits = 6 if piece.precision is None else piece.precision
        # Zero has no sign.
        return self.numeral(piece, self.rounded(value or 0.0, digits), digits, 1, tag, fills=True)

    def rounded(self, value, digits):
        text = f"{value:.{digits}f}"
        self.note("printf's rounding", decimal.Decimal(self.rounded_as_spelled(value, digits)) != decimal.Decimal(text))
        return text

    def rounded_as_spelled(self, value, digits):
        last = decimal.Decimal(1).scaleb(-digits)
        return f"{decimal.Decimal(repr(value)).quantize(last, decimal.ROUND_HALF_EVEN, decimal.Context(400)):f}"

    def numeral(self, piece, text, digits, least, tag, fills):
        is_code = fills and "0" in piece.flags and "-" not in piece.flags
        has_plus = "+" in piece.flags
        is_grouped = self.is_grouped(is_code, least)
        # A zero is shown, though %.0d asks for no digit of it.
        shown = numerals(tag, is_grouped, digits, max(least, 1), has_plus).formatDecimal(text.encode())
        if is_code or least > 1:
            self.note("codes", shown != numerals(tag, True, digits, least, has_plus).formatDecimal(text.encode()))
        if " " in piece.flags and not has_plus and not text.startswith("-"):
            self.note("blanks")
            shown = " " + shown
        missing = (piece.width or 0) - len(shown)
        if is_code and missing > 0:
            self.note("codes")
            whole = len(text.lstrip("-").split(".")[0])
            blank = " " if shown.startswith(" ") else ""
            shown = blank + numerals(tag, False, digits, whole + missing, has_plus).formatDecimal(text.encode())
        return self.padded(piece, shown)

    def is_grouped(self, is_code, least):
        return not is_code and least <= 1

    def padded(self, piece, text):
        width = piece.width or 0
        return text.ljust(width) if "-" in piece.flags else text.rjust(width)

    def note(self, name, is_so=True):
        if is_so:
            self.differences.add(name)


class Run:
    """One translation with its arguments."""

    def __init__(self, oracle, translation, arguments, language, numerals):
        self.oracle, self.arguments, self.language, self.numerals = oracle, arguments, language, numerals
        self.variables = {variable.name: variable for variable in translation.variables}

    def shown(self, pieces, at, variable=None, place=0):
        """`at` is the next argument; `variable`, whose forms these are, has the one at `place`."""
        oracle, text = self.oracle, []
        for piece in pieces:
            if isinstance(piece, Literal):
                text.append(oracle.literal(piece))
            elif isinstance(piece, Own):
                text.append(oracle.specifier(oracle.own(variable), self.arguments[place], self.numerals))
            elif isinstance(piece, Use):
                used = self.variables[piece.name]
                index, at = oracle.index_of_variable(piece.position or used.argument, at)
                text.append(self.shown(self.form(used.forms, index), oracle.first_within(index), used, index))
            else:
                if piece.conversion in UNSERVABLE or piece.conversion.startswith("*") or "#" in piece.flags:
                    oracle.note("no argument of a push")
                    raise Refused
                index, at = oracle.index(piece.position, at)
                text.append(oracle.specifier(piece, self.arguments[index], self.numerals))
        return "".join(text)

    def form(self, forms, index):
        return forms[self.oracle.chosen(forms, self.arguments[index], self.language)]

    def needed(self, pieces, at):
        """How many arguments these name, with all forms of their variables."""
        count = 0
        for piece in pieces:
            if isinstance(piece, Use):
                used = self.variables[piece.name]
                index, at = self.oracle.index_of_variable(piece.position or used.argument, at)
                within = self.oracle.first_within(index)
                count = max(count, index + 1, *(self.needed(form, within) for form in used.forms.values()))
            elif isinstance(piece, Specifier) and piece.conversion not in UNSERVABLE:
                index, at = self.oracle.index(piece.position, at)
                count = max(count, index + 1)
        return count
