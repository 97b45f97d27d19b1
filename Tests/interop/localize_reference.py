#!/usr/bin/env python3
"""What other implementations say about plurals and numbers: localize_reference.json.

    python3 localize_reference.py            writes the file
    python3 localize_reference.py --check    fails if it would be written differently

by the `.venv` of `deploy/test`, which has Debian's PyICU.

Plural categories are Babel's own evaluation of CLDR 42, which is what ICU 72 has. Numbers are formatted
by ICU.
"""
import decimal, json, os, sys
import babel, icu

LANGUAGES = """af am ar az be bg bn br bs ca cs cy da de dsb el en es et eu fa fi fil fr ga gd gl gu he hi hr hu hy id
is it ja ka kk km kn ko kw lt lv mk ml mn mr ms mt my nb ne nl pa pl pt pt_PT ro ru si sk sl sq sr sv sw ta te th tr uk
ur uz vi zh zu""".split()
COUNTS = "0 1 2 3 4 5 10 11 12 14 19 20 21 22 100 101 102 111 1000 1000000 1.5".split()

WHOLE = ["0", "7", "-5", "999", "1000", "1234", "-1234", "9999", "10000", "123456", "1234567", "-987654321",
         "12345678901234"]
DECIMAL = ["0.5", "1.25", "-3.75", "1234.5", "1234567.125"]


def plurals():
    rules = {l: babel.Locale.parse(l).plural_form for l in LANGUAGES}
    return {l.replace("_", "-"): {n: rules[l](decimal.Decimal(n)) for n in COUNTS} for l in LANGUAGES}


def numbers():
    out = {}
    for language in LANGUAGES + ["ee", "en_IN", "de_CH", "es_MX", "ar_EG", "ar_MA", "de_AT", "fr_CH"]:
        plain = icu.NumberFormatter.withLocale(icu.Locale(language))
        fixed = plain.precision(icu.Precision.fixedFraction(2))
        out[language.replace("_", "-")] = {
            **{n: plain.formatDouble(float(n)) for n in WHOLE}, **{n: fixed.formatDouble(float(n)) for n in DECIMAL}}
    return out


def main():
    if not icu.ICU_VERSION.startswith("72."):
        sys.exit(f"needs ICU 72, not {icu.ICU_VERSION}")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "localize_reference.json")
    content = {"plurals": plurals(), "numbers": numbers()}
    # A line for each language.
    section = lambda v: "{\n" + ",\n".join(
        f"{json.dumps(k)}: {json.dumps(v[k], ensure_ascii=False)}" for k in sorted(v)) + "}"
    text = "{" + ",\n".join(f"{json.dumps(k)}: {section(v)}" for k, v in content.items()) + "}\n"
    if "--check" in sys.argv[1:]:
        if open(path, encoding="utf-8").read() != text:
            sys.exit(f"{path} is not what this script writes")
        print(f"{len(content['plurals'])} languages: as written")
    else:
        open(path, "w", encoding="utf-8").write(text)


if __name__ == "__main__":
    main()
