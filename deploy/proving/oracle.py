"""What a reader should see of a translation: numerals from ICU, through PyICU; plurals from Babel; the rest as Apple
documents it, except for `DIFFERENCES`. It parses no format: translations are trees."""
import contextlib, decimal, functools, math, re
import babel, icu
from translations import Literal, Own, Specifier, UNSERVABLE, Use

# Where Pushmill differs from CoreFoundation or Babel, and why.
DIFFERENCES = {
    "no argument of a push":
        "%x, %e, %c, %s and the like: the arguments of a push are texts and have no such types, so the key is left "
        "to the device",
    "all forms count":
        "a plural needs the arguments of all its forms, even of those not chosen: whether a producer sends enough "
        "must not depend on the number",
    "C types":
        "a number is not truncated to the width of a C type, as %d, %hd and %u do: it never had that type",
    "printf's rounding":
        "%.2f rounds the binary value, as the IEEE printf that Apple's documents refer to does; CoreFoundation rounds "
        "the shortest decimal spelling, half to even",
    "codes":
        "a number padded with zeros has no groups and exactly the given width: 00042, where CoreFoundation writes "
        "00,042, which breaks a code apart",
    "blanks":
        "% d puts a blank in place of a plus sign, as printf does; CoreFoundation ignores the flag",
    "characters":
        "the width and precision of %@ count characters; CoreFoundation counts UTF-16 units and may cut an emoji in "
        "half",
    "ICU's sight":
        "ICU, used here as on a device, takes the decimals of a plural's fraction from 16 digits of its binary value "
        "and may see 76.13420000000001 for 76.1342: if the last decimals count, as in Croatian and Latvian, Babel "
        "then chooses another form",
}

ALIASES = {"iw": "he", "in": "id", "kmr": "ku", "tl": "fil", "sh": "sr_Latn", "mo": "ro", "no": "nb"}
SIZES = {"": 32, "h": 16, "hh": 8}


class Refused(Exception):
    """The arguments do not fit the translation."""


def canonical(tag):
    language, *rest = tag.replace("-", "_").split("_")
    return "_".join([ALIASES.get(language, language), *rest])


def language_of(tag):
    return canonical(tag).split("_")[0]


def region_of(tag):
    return next((part for part in canonical(tag).split("_")[1:] if len(part) in (2, 3)), None)


@functools.cache
def plural_form(tag):
    # Of these languages, only Portuguese has different plurals in another country.
    name = "pt_PT" if tag == "pt-PT" else language_of(tag)
    return functools.cache(babel.Locale.parse(name).plural_form)


@functools.cache
def plural_rules(tag):
    return icu.PluralRules.forLocale(icu.Locale(canonical(tag)))


@functools.cache
def numerals(tag, is_grouped, fraction, least, has_plus):
    groups = icu.UNumberGroupingStrategy
    # `AUTO` does not group 1234 in Spanish and Polish.
    formatter = icu.NumberFormatter.withLocale(icu.Locale(canonical(tag))).grouping(
        groups.AUTO if is_grouped else groups.OFF).precision(icu.Precision.fixedFraction(fraction))
    formatter = formatter.integerWidth(icu.IntegerWidth.zeroFillTo(least))
    return formatter.sign(icu.UNumberSignDisplay.ALWAYS) if has_plus else formatter


def number(text):
    """Parses a text as an integer or a float; None for any other text."""
    if re.fullmatch(r"[+-]?[0-9]+", text) and abs(int(text)) < 1 << 64:
        return int(text)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    value = float(text)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


class Oracle:
    """Each method is a rule; `FAULTS` breaks them in turn."""

    def __init__(self):
        # The differences in the last text, by name.
        self.differences = set()

    # Translation and numerals

    def choose(self, wishes, localizations):
        """Returns the localization and the tag it serves; `wishes` are (tag, weight, matching localization)."""
        wishes = sorted(wishes, key=lambda wish: -wish[1])
        for tag, _, name in wishes:
            if name in localizations:
                return name, tag
        return localizations[0], wishes[0][0] if wishes else None

    def numerals_of(self, localization, wish):
        """The numerals of the text's language in the recipient's region."""
        region = region_of(wish) if wish else None
        if region is None:
            return localization
        if language_of(wish) == language_of(localization):
            return wish
        scripts = [part for part in canonical(localization).split("_")[1:] if len(part) == 4]
        return "_".join([language_of(localization), *scripts, region])

    def text(self, catalog, key, arguments, wishes):
        """None if the key is left to the device. An argument of None is neither text nor number."""
        self.differences.clear()
        name, wish = self.choose(wishes, catalog.localizations)
        # Missing keys come from the default localization.
        name = name if key in catalog.tables[name] else catalog.localizations[0]
        try:
            return self.render(catalog.tables[name][key], self.usable(arguments), name, self.numerals_of(name, wish))
        except Refused:
            return None

    # Arguments

    def usable(self, arguments):
        """The arguments before the first that is neither text nor number."""
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
        """Refuses too few arguments; ignores surplus ones."""
        if len(arguments) < needed:
            raise Refused

    def chooser(self, pieces):
        """The index of the first number, which selects the form of a plural without a variable."""
        at = 0
        for piece in pieces:
            if isinstance(piece, Specifier):
                index = at if piece.position is None else piece.position - 1
                if piece.conversion in "diuDUfF":
                    return index
                at += piece.position is None
        return 0

    def index(self, position, at):
        """Returns the index of an argument and that of the next one."""
        return (at, at + 1) if position is None else (position - 1, at)

    def index_of_variable(self, position, at):
        return (at, at + 1) if position is None else (position - 1, max(at, position))

    def first_within(self, index):
        """The argument of a specifier without a position within a variable's forms."""
        return index

    # Plurals

    def category(self, value, language):
        if isinstance(value, int) or value.is_integer():
            return plural_form(language)(decimal.Decimal(abs(int(value))))
        seen = plural_rules(language).select(abs(value))
        self.note("ICU's sight", seen != plural_form(language)(decimal.Decimal(repr(abs(value)))))
        return seen

    def chosen(self, forms, argument, language):
        """A zero form serves 0 in every language; an argument that is not a number selects `other`."""
        value = number(argument)
        if value is None:
            return "other"
        if value == 0 and "zero" in forms:
            return "zero"
        name = self.category(value, language)
        return name if name in forms else "other"

    def own(self, variable):
        """The specifier that %arg stands for."""
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
        # Zero is shown, although %.0d requests no digits for it.
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
        """`at` is the next argument; `variable` owns these forms, and its argument is at `place`."""
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
        """The number of arguments that these pieces need, including all forms of their variables."""
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
