#!/usr/bin/env python3
"""What other implementations say about plurals, locale choice and numbers: localize_reference.json.

    python3 localize_reference.py            writes the file
    python3 localize_reference.py --check    fails if it would be written differently

by the `.venv` of `deploy/test`, which has Debian's PyICU.

Plural categories are Babel's own evaluation of CLDR 42, which is what ICU 72 has. Locale choice is uloc_acceptLanguage
with the list put in order here. Numbers are formatted by ICU.
"""
import decimal, json, os, sys
import babel, icu

LANGUAGES = """af am ar az be bg bn br bs ca cs cy da de dsb el en es et eu fa fi fil fr ga gd gl gu he hi hr hu hy id
is it ja ka kk km kn ko kw lt lv mk ml mn mr ms mt my nb ne nl pa pl pt pt_PT ro ru si sk sl sq sr sv sw ta te th tr uk
ur uz vi zh zu""".split()
COUNTS = "0 1 2 3 4 5 10 11 12 14 19 20 21 22 100 101 102 111 1000 1000000 1.5".split()

CATALOG = sorted("""ar ca cs da de en en-AU en-GB es es-419 fi fr fr-CA he hi id it ja ko nb nl pl pt pt-PT ro ru sr
sr-Latn sv th tr uk vi zh-Hans zh-Hant zh-Hant-HK""".split())
WISHES = [
    "en", "en-US", "en-IN", "en-NZ", "en-ZA", "en-CA", "en-GB", "en-AU", "en_GB", "EN-us", "fr", "fr-CA", "fr-CH",
    "fr-BE", "fr_FR", "de-AT", "de-CH", "es-MX", "es-AR", "es-ES", "es-US", "pt", "pt-BR", "pt-AO", "pt-MZ", "zh",
    "zh-TW", "zh-HK", "zh-MO", "zh-CN", "zh-SG", "zh-Hant", "zh-Hans-HK", "zh_Hant_TW", "no", "nn", "nb-NO", "iw", "in",
    "he-IL", "sr", "sr-Latn-RS", "sr-ME", "sh", "hr", "bs", "ru-KZ", "be", "uk-UA", "ca-ES", "gl", "eu", "gsw", "lb",
    "mo", "tl", "hi-Latn", "ja-JP-u-ca-japanese", "ar-AE", "ar-EG", "tlh", "xx", "und", "ko-KR",
    "xx, ja;q=0.8, en;q=0.5", "en;q=0.3, fr;q=0.7, de", "da, en-GB;q=0.8, en;q=0.7", "pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7",
    "sq, mk;q=0.9", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7", "is, nb;q=0.1", "zh-CN,zh;q=0.9", "th-TH , tr ;q=0.1",
    "en;q=0.001, ko", "ga-IE, cy;q=0.9, vi;q=0.2",
]

WHOLE = ["0", "7", "-5", "999", "1000", "1234", "-1234", "9999", "10000", "123456", "1234567", "-987654321",
         "12345678901234"]
DECIMAL = ["0.5", "1.25", "-3.75", "1234.5", "1234567.125"]


def plurals():
    rules = {l: babel.Locale.parse(l).plural_form for l in LANGUAGES}
    return {l.replace("_", "-"): {n: rules[l](decimal.Decimal(n)) for n in COUNTS} for l in LANGUAGES}


def in_order(header):
    """The tags of an Accept-Language list, the most wanted first."""
    found = []
    for item in header.replace("_", "-").split(","):
        tag, _, weight = item.partition(";")
        found.append((-float(weight.strip().removeprefix("q=") or 1), tag.strip()))
    return [icu.Locale.forLanguageTag(tag).getName() for _, tag in sorted(found, key=lambda pair: pair[0])]


def choices():
    names = {icu.Locale.forLanguageTag(tag).getName(): tag for tag in CATALOG}
    return {w: names.get(icu.LocaleMatcher.acceptLanguage(in_order(w), list(names))[0]) for w in WISHES}


def numbers():
    out = {}
    for language in LANGUAGES + ["en_IN", "de_CH", "es_MX", "ar_EG", "ar_MA", "de_AT", "fr_CH"]:
        plain = icu.NumberFormat.createInstance(icu.Locale(language))
        fixed = icu.NumberFormat.createInstance(icu.Locale(language))
        fixed.setMinimumFractionDigits(2)
        fixed.setMaximumFractionDigits(2)
        out[language.replace("_", "-")] = {
            **{n: plain.format(int(n)) for n in WHOLE}, **{n: fixed.format(float(n)) for n in DECIMAL}}
    return out


def main():
    if not icu.ICU_VERSION.startswith("72."):
        sys.exit(f"needs ICU 72, not {icu.ICU_VERSION}")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "localize_reference.json")
    content = {"plurals": plurals(), "catalog": CATALOG, "choices": choices(), "numbers": numbers()}
    # A line for each language.
    section = lambda v: json.dumps(v) if isinstance(v, list) else "{\n" + ",\n".join(
        f"{json.dumps(k)}: {json.dumps(v[k], ensure_ascii=False)}" for k in sorted(v)) + "}"
    text = "{" + ",\n".join(f"{json.dumps(k)}: {section(v)}" for k, v in content.items()) + "}\n"
    if "--check" in sys.argv[1:]:
        if open(path, encoding="utf-8").read() != text:
            sys.exit(f"{path} is not what this script writes")
        print(f"{len(content['plurals'])} languages, {len(content['choices'])} requests: as written")
    else:
        open(path, "w", encoding="utf-8").write(text)


if __name__ == "__main__":
    main()
