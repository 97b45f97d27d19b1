"""Finds growth: compares the second quarter of a run with the last."""
import collections

Measure = collections.namedtuple("Measure", "title key factor more")

# The limit for the last quarter: the second quarter's value times `factor`, plus `more`.
MEASURES = [
    Measure("resident MB", "memory", 1.05, 8),
    Measure("descriptors", "descriptors", 1, 4),
    Measure("threads", "threads", 1, 4),
    Measure("lag, records", "lag", 2, 2000),
    Measure("events on their way", "waiting", 2, 2000),
    Measure("latency ms, 50 %", "p50", 1.5, 10),
    Measure("latency ms, 99 %", "p99", 1.5, 50),
]


def quarters(samples, key):
    """The lower quartile of each quarter, which rebalances and a busy machine do not affect."""
    values = [sample[key] for sample in samples if sample.get(key) is not None]
    size = len(values) / 4
    parts = [sorted(values[int(size * number):int(size * (number + 1))]) for number in range(4)]
    return [part[len(part) // 4] if part else 0 for part in parts]


def table(samples):
    """Prints the table and returns what has grown."""
    grown = []
    print(f"{'':20} {'1st':>10} {'2nd':>10} {'3rd':>10} {'4th':>10} {'most':>10}   lower quartiles")
    for title, key, factor, more in MEASURES:
        values = quarters(samples, key)
        limit = values[1] * factor + more
        has_grown = values[3] > limit
        most = max(sample[key] for sample in samples if sample.get(key) is not None)
        cells = " ".join(f"{value:10.1f}" for value in [*values, most])
        print(f"{title:20} {cells}   {'GREW beyond' if has_grown else 'at most'} {limit:.1f}")
        if has_grown:
            grown.append(f"{title} grew from {values[1]:.1f} to {values[3]:.1f}")
    return grown
