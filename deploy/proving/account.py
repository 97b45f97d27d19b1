"""Accounts for every event of the input."""
import collections, json, time


def words(headers):
    return dict(header.partition("=")[::2] for header in headers.split(","))


def arrivals(outputs, letters):
    """(place in the input, key, value, is a dead letter) of each output, in the order of each topic."""
    return [(source(headers), key, value, False) for headers, key, value in list(outputs.records)] + [
        (source(headers), key, value, True) for headers, key, value in list(letters.records)]


def source(headers):
    names = words(headers)
    return names.get("pushmill-source") or "/".join(
        names.get(f"pushmill.error.{part}", "") for part in ("topic", "partition", "offset"))


def offset(place):
    return int(place.split("/")[2])


class Waiting:
    """The events without an output so far, and for how long their partitions have produced none."""

    def __init__(self, inputs, outputs, letters):
        self.inputs, self.results = inputs, [outputs, letters]
        self.read = collections.Counter()
        self.left, self.seen = collections.defaultdict(set), set()
        self.since = collections.defaultdict(float)
        self.heal()

    def heal(self):
        """Forgets earlier stalls."""
        self.healed, self.longest, self.which = time.monotonic(), 0, None

    def fresh(self, topic):
        begin = self.read[topic]
        self.read[topic] = len(topic.records)
        return [words[0] for words in topic.records[begin:self.read[topic]]]

    def look(self):
        now = time.monotonic()
        for partition, places in self.left.items():
            still = now - max(self.since[partition], self.healed)
            if places and still > self.longest:
                self.longest, self.which = still, partition
        for place in self.fresh(self.inputs):
            if place not in self.seen:
                partition = place.rpartition("/")[0]
                if not self.left[partition]:
                    self.since[partition] = now
                self.left[partition].add(place)
        for place in map(source, (headers for topic in self.results for headers in self.fresh(topic))):
            partition = place.rpartition("/")[0]
            self.seen.add(place)
            self.left[partition].discard(place)
            self.since[partition] = now

    @property
    def is_any(self):
        return any(self.left.values())

    def __str__(self):
        return f"{self.longest:.1f} s ({self.which})"


class Account:
    """Totals, and in `broken` those that violate a guarantee."""

    def __init__(self, sent, inputs, outputs, letters, counts_badges, once):
        self.events = {place: (key, value) for place, key, value in inputs.records}
        self.badges = self.ranks()
        self.seen = set()
        self.repeats = self.letters = self.strangers = self.disorder = self.changed = self.miscounted = 0
        last = collections.defaultdict(lambda: -1)
        for place, key, value, is_letter in arrivals(outputs, letters):
            self.letters += is_letter
            if place not in self.events:
                self.strangers += 1
                continue
            is_repeat = place in self.seen
            # A repeat may show its recipient's current count.
            self.compare(place, value, is_letter, counts_badges and not is_repeat)
            if is_repeat:
                self.repeats += 1
                continue
            self.seen.add(place)
            self.disorder += offset(place) < last[key, is_letter]
            last[key, is_letter] = offset(place)
        lost = len(self.events.keys() - self.seen)
        figures = {
            f"{sent} events were sent, but the input has another number": abs(sent - len(self.events)),
            "events lost": lost, "outputs without an event": self.strangers,
            "events out of order": self.disorder,
            "wrong outputs": self.changed,
            "wrong badges": self.miscounted,
            "events published twice": once and self.repeats,
        }
        self.broken = [f"{what}: {count}" for what, count in figures.items() if count]

    def ranks(self):
        """The expected badge of each event: its rank among its recipient's notifications."""
        counts, ranks = collections.Counter(), {}
        for place in sorted(self.events, key=offset):
            key, value = self.events[place]
            if value.startswith("{"):
                counts[key] += 1
                ranks[place] = counts[key]
        return ranks

    def compare(self, place, value, is_letter, counts_badges):
        sent = self.events[place][1]
        if is_letter or place not in self.badges:
            self.changed += not is_letter or place in self.badges or value != sent
            return
        before, after = json.loads(sent), json.loads(value)
        self.changed += after["number"] != before["number"] or "body" not in after["aps"]["alert"]
        self.miscounted += counts_badges and after["aps"]["badge"] != self.badges[place]

    def __str__(self):
        return (
            f"{len(self.events)} events, {len(self.seen)} arrived, {self.repeats} repeats, {self.letters} dead letters, "
            f"{self.disorder} out of order, {self.miscounted} badges wrong")
