"""The program behind `deploy/catalogs`."""
import argparse, collections, json, pathlib, random, re, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "running"))
import oracle
from planted import FAULTS
from processes import Process, place, release
from translations import KINDS, Catalog, spelled

# Localizations with the preferred languages of their readers. LocaleMatcherTests covers which localization serves whom:
# here none serves the readers of another.
READERS = {readers.split()[0]: readers.split() for readers in """
    ar ar-EG ar-MA ar-SA ar-AE; be be-BY; bn bn-IN bn-BD; cs cs-CZ; cy cy-GB; da da-DK; de de-DE de-AT de-CH de-LI;
    en en-US en-IN en-GB en-ZA en-DE en-CH; es es-ES es-MX es-AR es-419 es-US; et; fa fa-IR fa-AF; fi fi-FI;
    fil tl tl-PH; fr fr-FR fr-CH fr-CA fr-BE; ga ga-IE; gd; he iw iw-IL; hi hi-IN; hr hr-BA; hu; id in in-ID;
    it it-IT it-CH; ja ja-JP; ko ko-KR; ku kmr kmr-TR; lt lt-LT; lv lv-LV; mr mr-IN; mt; my my-MM;
    nb nb-NO no no-NO nn-NO; ne ne-NP ne-IN; nl nl-NL nl-BE; pl pl-PL; pt pt-BR; pt-PT pt-AO pt-CH; ro ro-MD mo;
    ru ru-RU ru-UA; sl sl-SI; sr-Latn sr-Latn-RS sh; sv sv-SE sv-FI; th th-TH; tr tr-TR; uk uk-UA; vi vi-VN;
    zh-Hans zh zh-CN zh-SG; zh-Hant zh-TW zh-HK""".split(";")}
NOBODY_SERVES = ["xx", "eu", "sw-KE", "af"]

TEXTS = ["Zoë", "أمينة", "", "many", "1,000", "1 000", "١٢", " 1", "1 ", "0x1F", "nan", "inf", "1e999", "+", "-", ".",
         "1e", "%@ %d 50%", "a\"b\\c\n", "🎉", "日本語の名前", "99999999999999999999999", "1_000", "--1"]
COUNTS = [0, 1, 2, 3, 4, 5, 7, 10, 11, 12, 19, 20, 21, 22, 99, 100, 101, 111, 999, 1000, 1001, 1234, 9999,
          10_000, 12_345, 100_000, 1_000_000, 1_234_567, 2_000_000, 1 << 31, 1 << 53, (1 << 53) + 1, (1 << 63) - 1,
          (1 << 64) - 1, 1 << 64]
FRACTIONS = ["0.5", "1.5", "2.5", "0.125", "2.675", "1.005", "-0.05", "-0.04", "1234.5", "1234567.125", "99.995", "1e3",
             "12.0", "1.50", "1e22", "-1e-3", ".5", "5.", "+2.25", "-0.0", "0.1",
             "76.1342", "8337.0277", "-9467.78626"]
KEYS_IN_A_CATALOG, RECORDS_FOR_A_CATALOG = 200, 5_000
ALERT_TEXTS = {"body": ("loc-key", "loc-args"), "subtitle": ("subtitle-loc-key", "subtitle-loc-args")}

# One text to be rendered, and how it is requested.
Case = collections.namedtuple("Case", "key arguments sort")


class Asking:
    """Generates readers and arguments."""

    def __init__(self, random, catalog, languages):
        self.random, self.catalog, self.languages, self.keys = random, catalog, languages, list(catalog.keys)

    def wishes(self):
        """Returns tags with weights and the localization that would serve each, and the list as written."""
        random = self.random
        names = random.sample(self.languages, random.choice([0, 1, 1, 1, 2, 3]))
        if random.random() < 0.6:
            names.append(random.choice(self.catalog.localizations))
        readers = [(random.choice(READERS[name]), name) for name in names]
        if random.random() < 0.2:
            readers.insert(0, (random.choice(NOBODY_SERVES), None))
        weights = random.sample(range(1, 10), len(readers))
        has_weights = random.random() < 0.3
        wishes = [(tag, weight if has_weights else 10, name) for (tag, name), weight in zip(readers, weights)]
        written = [f"{tag};q=0.{weight}" if has_weights else tag for tag, weight, _ in wishes]
        return wishes, random.choice([", ", ","]).join(written)

    def case(self):
        random = self.random
        key = random.choice(self.keys)
        arguments = [self.argument(role) for role in self.catalog.keys[key][1]]
        sort = "as many"
        if random.random() < 0.15:
            sort = "surplus"
            roles = random.choices(["text", "integer"], k=random.choice([1, 1, 2, 40]))
            arguments += [self.argument(role) for role in roles]
        elif arguments and random.random() < 0.12:
            sort = "missing"
            del arguments[random.randrange(len(arguments)):]
        if random.random() < 0.05:
            sort = "neither text nor number"
            arguments.insert(random.randint(0, len(arguments)), (random.choice(["null", "true", "{}", "[1]"]), None))
        return Case(key, arguments, sort)

    def argument(self, role):
        """Returns the argument as written in the payload, and its text."""
        random = self.random
        if random.random() < 0.06:
            role = random.choice(["text", "integer", "fraction"])
        if role == "text":
            text = random.choice(TEXTS)
        elif role == "integer":
            count = random.choice(COUNTS) if random.random() < 0.7 else random.randrange(10 ** random.randint(1, 12))
            text = f"{random.choice(['', '', '', '', '-', '+'])}{count}"
        elif random.random() < 0.6:
            text = random.choice(FRACTIONS)
        else:
            text = repr(round(random.uniform(-1, 1) * 10 ** random.randint(0, 9), random.randint(1, 6)))
        return self.written(text), text

    def written(self, text):
        """In quotes or, if it is a JSON number, sometimes without."""
        is_number = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text)
        if is_number and self.random.random() < 0.5:
            return text
        return json.dumps(text, ensure_ascii=self.random.random() < 0.5)


def languages(random):
    """Only one Portuguese, because each would also serve the readers of the other."""
    return sorted(set(READERS) - {random.choice(["pt", "pt-PT"])})


def payload(cases):
    texts = ""
    for (key, list_), case in zip(ALERT_TEXTS.values(), cases):
        texts += f',"{key}":{json.dumps(case.key)},"{list_}":[{",".join(written for written, _ in case.arguments)}]'
    return f'{{"aps":{{"alert":{{"title":"t"{texts}}},"mutable-content":1}}}}'


def answers(program, folder, lines):
    """Yields the alert that the program publishes for each record."""
    (folder / "pushmill.yaml").write_text(
        "kafka: { bootstrap.servers: '127.0.0.1:1' }\n"
        "topics: { input: [push.events], output: out, dead-letter: dead }\n"
        "stages: [ localize: { catalog: catalog, default-locale: en } ]\n")
    (folder / "input").write_text("".join(line + "\n" for line in lines), "utf-8")
    with open(folder / "input") as source, open(folder / "output", "w") as target, open(folder / "log", "w") as log:
        command = [program, "apply", "--config", folder / "pushmill.yaml", "--lines"]
        if (code := Process(command, log, stdin=source, stdout=target).child.wait()) != 0:
            sys.exit(f"the program exited with {code}:\n{(folder / 'log').read_text()[-2000:]}")
    for line in (folder / "output").read_text("utf-8").splitlines():
        envelope = json.loads(line)
        yield json.loads(envelope["payload"])["aps"]["alert"]


class Tally:
    """Counts cases, differences, and the planted faults that the cases would reveal."""

    def __init__(self, faults):
        self.kinds, self.sorts, self.texts, self.refused = (collections.Counter() for _ in range(4))
        self.differences, self.wrong, self.cases = collections.Counter(), 0, 0
        self.faulty = {name: fault() for name, fault in faults.items()}
        # The number of cases after which each fault was found.
        self.found = {}
        self.oracle = oracle.Oracle()

    def hold(self, catalog, wishes, list_, case, got):
        self.cases += 1
        kind = catalog.keys[case.key][0]
        texts = [text for _, text in case.arguments]
        expected = self.oracle.text(catalog, case.key, texts, wishes)
        self.kinds[kind] += 1
        self.sorts[case.sort] += 1
        self.refused[kind] += expected is None
        self.differences.update(self.oracle.differences)
        if got != expected:
            self.wrong += 1
            if self.wrong <= 20:
                self.tell(catalog, list_, case, expected, got)
        for name, faulty in self.faulty.items():
            if name not in self.found and got == expected != faulty.text(catalog, case.key, texts, wishes):
                self.found[name] = self.cases

    def tell(self, catalog, list_, case, expected, got):
        print(f"DIFFERENT: {case.key!r} for {list_!r} with [{', '.join(written for written, _ in case.arguments)}]\n"
              f"    expected {expected!r}\n    found    {got!r}", flush=True)
        for name, table in catalog.tables.items():
            if case.key in table:
                print(f"    {name}: {described(table[case.key])}")


def described(translation):
    pieces = [spelled(translation.pieces)] if translation.forms is None else []
    forms = [translation.forms or {}] + [variable.forms for variable in translation.variables]
    return " | ".join(pieces + [f"{name}: {spelled(form)}" for each in forms for name, form in each.items()])


def round_of(chance, tally, program, count):
    """One catalog and its cases."""
    known = languages(chance)
    catalog = Catalog(chance, ["en"] + chance.sample([name for name in known if name != "en"], 8), KEYS_IN_A_CATALOG)
    asking = Asking(chance, catalog, known)
    asked, lines = [], []
    for number in range((count + 1) // 2):
        wishes, list_ = asking.wishes()
        cases = [asking.case(), asking.case()]
        asked.append((wishes, list_, cases))
        headers = ["locale", list_] if list_ else []
        lines.append(json.dumps({"topic": "push.events", "partition": 0, "offset": number, "tstype": "create", "ts": 1,
                                 "headers": headers, "key": "k", "payload": payload(cases)}))
    with place("catalogs") as folder:
        catalog.write(folder / "catalog", chance)
        alerts = list(answers(program, folder, lines))
    if len(alerts) != len(asked):
        sys.exit(f"{len(alerts)} of {len(asked)} records came out")
    for (wishes, list_, cases), alert in zip(asked, alerts):
        for (shown, (key, _)), case in zip(ALERT_TEXTS.items(), cases):
            # A key that stays is left to the device.
            tally.hold(catalog, wishes, list_, case, None if key in alert else alert.get(shown))


def options():
    parser = argparse.ArgumentParser(prog="deploy/catalogs", description="Checks random catalogs against an oracle.")
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--self-test", action="store_true", help="plants each known fault; fails if one is not found")
    return parser.parse_args()


def main():
    chosen, began = options(), time.monotonic()
    program, chance = release(), random.Random(chosen.seed)
    print(f"seed {chosen.seed}", flush=True)
    tally = Tally(FAULTS if chosen.self_test else {})
    while tally.cases < chosen.cases:
        before = tally.cases
        round_of(chance, tally, program, min(2 * RECORDS_FOR_A_CATALOG, chosen.cases - tally.cases))
        if tally.cases // 100_000 > before // 100_000:
            print(f"{tally.cases:,} cases, {time.monotonic() - began:.0f} s, {tally.wrong} different", flush=True)
    for kind in KINDS:
        print(f"{kind:17} {tally.kinds[kind]:9,} cases, {tally.refused[kind]:8,} of them left to the device")
    print(", ".join(f"{sort}: {count:,}" for sort, count in tally.sorts.most_common()))
    for name, reason in oracle.DIFFERENCES.items():
        print(f"named difference, {tally.differences[name]:,} times: {name} ({reason})")
    unseen = [kind for kind in KINDS if not tally.kinds[kind]]
    missed = [name for name in tally.faulty if name not in tally.found]
    for name, cases in tally.found.items():
        print(f"planted: {name}: found after {cases:,} cases")
    for name in missed:
        print(f"NOT FOUND: {name}")
    if unseen:
        print(f"kinds never tested: {', '.join(unseen)}")
    print(f"{tally.cases:,} cases, {tally.wrong} of them different, in {time.monotonic() - began:.0f} s")
    sys.exit(1 if tally.wrong or missed or unseen else 0)


if __name__ == "__main__":
    main()
