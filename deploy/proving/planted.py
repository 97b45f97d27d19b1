"""Possible mistakes with texts: oracles with one broken rule each, with which a correct program disagrees."""
from oracle import Oracle, Refused, language_of, number, numerals, region_of
from translations import Specifier

FAULTS = {}


def planted(name):
    """Adds a fault that replaces one method."""
    def add(method):
        FAULTS[name] = type("Faulty", (Oracle,), {method.__name__: method})
        return method
    return add


@planted("a surplus argument is a failure")
def expect(self, arguments, needed, run):
    if len(arguments) != needed:
        raise Refused


@planted("a missing argument is empty")
def expect(self, arguments, needed, run):
    run.arguments = arguments + [""] * (needed - len(arguments))


@planted("an argument that is neither text nor number is empty")
def usable(self, arguments):
    return ["" if argument is None else argument for argument in arguments]


@planted("positions are ignored")
def index(self, position, at):
    return at, at + 1


@planted("a variable's position is ignored")
def index_of_variable(self, position, at):
    return at, at + 1


@planted("a variable's specifiers start at the first argument of the text")
def first_within(self, index):
    return 0


@planted("a plural without a variable is chosen by the first argument")
def chooser(self, pieces):
    return 0


@planted("a zero form is only for languages that have one")
def chosen(self, forms, argument, language):
    value = number(argument)
    name = "other" if value is None else self.category(value, language)
    return name if name in forms else "other"


@planted("an argument that is not a number selects no form")
def chosen(self, forms, argument, language):
    if number(argument) is None:
        raise Refused
    return Oracle.chosen(self, forms, argument, language)


@planted("every language uses English plurals")
def category(self, value, language):
    return Oracle.category(self, value, "en")


@planted("plurals depend only on the last two digits")
def category(self, value, language):
    return Oracle.category(self, value % 100 if isinstance(value, int) and value >= 100 else value, language)


@planted("%arg is a whole number")
def own(self, variable):
    return Specifier("d")


@planted("a doubled percent sign stays doubled")
def literal(self, piece):
    return piece.written


@planted("numbers use the text's region, not the reader's")
def numerals_of(self, localization, wish):
    return localization


@planted("numbers use the reader's language, whatever the text's")
def numerals_of(self, localization, wish):
    return wish or localization


@planted("numbers use the reader's region in texts of its language only")
def numerals_of(self, localization, wish):
    is_own = wish is not None and language_of(wish) == language_of(localization)
    return wish if is_own and region_of(wish) else localization


@planted("numbers have no groups")
def is_grouped(self, is_code, least):
    return False


@planted("codes have groups")
def is_grouped(self, is_code, least):
    return True


@planted("fractions are rounded half to even from their decimal spelling")
def rounded(self, value, digits):
    return self.rounded_as_spelled(value, digits)


@planted("a width counts bytes")
def padded(self, piece, text):
    missing = max(0, (piece.width or 0) - len(text.encode()))
    return text + " " * missing if "-" in piece.flags else " " * missing + text


@planted("fractions lose trailing zeros")
def fraction(self, piece, value, tag):
    text = Oracle.fraction(self, piece, value, tag)
    point = numerals(tag, False, 1, 1, False).formatDecimal(b"0.1")[1]
    zero = numerals(tag, False, 0, 1, False).formatDecimal(b"0")
    return text.rstrip(zero).rstrip(point) if point in text else text


@planted("lists are read in order, ignoring weights")
def choose(self, wishes, localizations):
    return Oracle.choose(self, [(tag, 1, name) for tag, _, name in wishes], localizations)
