"""How long messages take at a rate that leaves the machine room."""
import json, os, shlex, subprocess, sys
from workload import DATA, PROGRAM, ROOT, WORK

sys.path.insert(0, str(ROOT / "deploy/running"))
from processes import Broker, Broken, Process, place

# In seconds; contacts are read meanwhile.
WARMUP, MEASURED = 15, 10
FLOOR = {"cmd": ["{work}/passthrough", "{bootstrap}", "{in}", "{out}", "{group}"], "group": "floor"}


def client(bench):
    """Publishes at a rate and says when what came of it was there."""
    program, source = WORK / "latency", (bench / "latency.c").read_text()
    # Keys are placed as `load.c` and Java clients place them, and as the service does: a core's partitions are the same
    # before and after it, so that its batches are whole.
    linger = 'set(k, "linger.ms", "0");'
    if linger not in source:
        raise Broken(f"latency.c has no {linger} behind which its keys can be placed as the service places them")
    placed = source.replace(linger, linger + ' set(k, "partitioner", "murmur2_random");')
    subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", program, "-lrdkafka", "-lpthread"], input=placed, text=True, check=True)
    return program


def latency(program, broker, topics, spec, rate):
    """Percentiles for one service, as the workload's runner wants it."""
    with place("bench") as folder:
        server = Broker(shlex.split(broker) if broker else [PROGRAM, "broker"], topics)
        names = {"bootstrap": server.address, "data": DATA, "state": folder, "work": WORK, "group": spec["group"]}
        names |= {"in": "w1-in", "out": "w1-out"}
        fill = lambda word: word.format(**names)
        if "before" in spec:
            subprocess.run([fill(word) for word in spec["before"]], check=True)
        environment = os.environ | {name: fill(value) for name, value in spec.get("env", {}).items()}
        Process([fill(word) for word in spec["cmd"]], env=environment, stdout=subprocess.DEVNULL)
        words = [server.address, "w1-in", "w1-out", DATA / "events.bin", rate, MEASURED, WARMUP]
        result = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if result.returncode:
            sys.exit(f"not every message came out at {rate} a second: {result.stdout.strip() or 'none'}")
        return json.loads(result.stdout)


def report(bench, broker, topics, specs, rate):
    """`specs` by the names that are shown."""
    program = client(bench)
    print(f"\nlatency at {rate} messages/s  p50 ms   p90 ms   p99 ms  p99.9 ms")
    for name, spec in specs.items():
        found = latency(program, broker, topics, spec, rate)
        print(f"{name:26}" + "".join(f"{found[f'{part}_ms']:9.1f}" for part in ("p50", "p90", "p99", "p999")))
