"""Measures latency at a rate that leaves the machine spare capacity."""
import json, os, shlex, subprocess, sys
from workload import DATA, PROGRAM, ROOT, WORK

sys.path.insert(0, str(ROOT / "deploy/running"))
from processes import Broker, Broken, Process, place

# In seconds; contacts are read during the warm-up.
WARMUP, MEASURED = 15, 10
FLOOR = {"cmd": ["{work}/passthrough", "{bootstrap}", "{in}", "{out}", "{group}"], "group": "floor"}


def client(bench):
    """Builds the client that publishes at a rate and reports when the outputs arrive."""
    program, source = WORK / "latency", (bench / "latency.c").read_text()
    # Keys get the same partitions as from `load.c`, Java clients and the service: a core's partitions are the same
    # before and after it, so that its batches stay together.
    linger = 'set(k, "linger.ms", "0");'
    if linger not in source:
        raise Broken(f"latency.c has no {linger} after which the partitioner can be set")
    placed = source.replace(linger, linger + ' set(k, "partitioner", "murmur2_random");')
    subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", program, "-lrdkafka", "-lpthread"], input=placed, text=True, check=True)
    return program


def latency(program, broker, topics, spec, rate):
    """Returns the percentiles of one service, given in the format of the workload's runner."""
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
            sys.exit(f"not every message came out at {rate} per second: {result.stdout.strip() or 'none'}")
        return json.loads(result.stdout)


def report(bench, broker, topics, specs, rate):
    """`specs` are keyed by display name."""
    program = client(bench)
    print(f"\nlatency at {rate} messages/s  p50 ms   p90 ms   p99 ms  p99.9 ms")
    for name, spec in specs.items():
        found = latency(program, broker, topics, spec, rate)
        print(f"{name:26}" + "".join(f"{found[f'{part}_ms']:9.1f}" for part in ("p50", "p90", "p99", "p999")))
