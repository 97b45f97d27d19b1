"""The trials."""
import bisect, collections, datetime, json, math, re, shutil, subprocess, sys, time

from life import Probes
from processes import ROOT, Broken, wait
from stand import RECIPIENTS, Outputs, Stand, line
from surroundings import Surroundings

# Seconds after an outage: until a starting instance is ready; until one that has to reconnect and rejoin is ready, of
# which librdkafka may back off for ten; and until the backlog is done.
STARTED, REJOINED, CAUGHT_UP = 10, 20, 60

STATIC = "group.instance.id: trials-0, session.timeout.ms: 30000"
# Seconds until a partition without an owner is read again.
OWNED = 12
# The most that a kill may repeat: a quarter of the default in-flight limit, on two cores.
MOST = 2500
ACCOUNTS, FED = 20_000_000, 400_000


def kill(figures, broker, program, folder, minutes):
    for once in (False, True):
        restart(figures, Stand(broker, program, folder / f"static-{once}", once))
        replace(figures, Stand(broker, program, folder / f"dynamic-{once}", once))


def restart(figures, stand):
    """Kills a static member three times, and restarts it after all it had published was seen."""
    title = f"{stand.name}, restarted"
    # More than the service can process meanwhile on any machine.
    stand.feed(2_500_000)
    instance, outputs = stand.start(STATIC), stand.outputs
    kills, starts = [], []
    stand.settle()
    for _ in range(3):
        stand.await_outputs(outputs.count + 100_000)
        instance.kill()
        wait("the last output", lambda: outputs.is_quiet(1))
        kills.append(time.monotonic())
        instance.start()
        starts.append(instance.started)
    stand.finish()
    # A kill may come before all repeats of the previous one: attribute each by when its event came before.
    repeats = collections.Counter(bisect.bisect_left(kills, before) for before, _ in outputs.repeats)
    firsts = [min((end for _, end in outputs.around(start)), default=math.inf) - start for start in starts]
    figures.tell(f"{title}: repeated by one kill, at most", max(repeats.values(), default=0), 0 if stand.once else MOST)
    figures.tell(f"{title}: seconds to the first new output, at most", max(firsts), 1)
    stand.tell(figures, title)


def replace(figures, stand):
    """Kills one of two instances for good."""
    title = f"{stand.name}, replaced"
    stand.feed(3_000_000)
    instances = [stand.start() for _ in range(2)]
    outputs = stand.outputs
    stand.settle()
    instances[0].kill()
    killed = time.monotonic()
    stand.finish()
    # Nobody takes over that soon, and nothing stays in transit for that long.
    silent = [end - killed for begin, end in outputs.around(killed + 4) if end - begin > 2]
    figures.tell(f"{title}: partitions that stopped", len(silent), least=1)
    figures.tell(f"{title}: repeated by the kill", len(outputs.repeats), 0 if stand.once else MOST)
    figures.tell(f"{title}: seconds from the kill to their first new output", min(silent, default=0.0), 7)
    figures.tell(f"{title}: seconds to the first new output of all", max(silent, default=0.0))
    stand.tell(figures, title)


def owners(figures, broker, program, folder, minutes):
    """Partitions that a killed static member was releasing: nobody gets them, because it is neither there nor gone."""
    for once in (False, True):
        stand = Stand(broker, program, folder / f"owners-{once}", once)
        stand.feed(2_500_000)
        first = stand.start(STATIC, "cores: 1")
        stand.settle()
        stand.start(STATIC.replace("-0", "-1"), "cores: 1")
        wait("partitions to be revoked", lambda: tells(first, "partitions revoked"), pause=0.001)
        first.kill()
        killed = time.monotonic()
        first.start()
        stand.finish(CAUGHT_UP)
        silent = [end for begin, end in stand.outputs.around(killed + 1) if end - begin > 2]
        figures.tell(f"{stand.name}: partitions that had no owner", len(silent), least=1)
        figures.tell(f"{stand.name}: seconds until they were read", max(silent, default=killed) - killed, OWNED)
        stand.tell(figures, stand.name)


def rebalances(figures, broker, program, folder, minutes):
    """Each join or leave causes at least one rebalance."""
    for once in (False, True):
        stand = Stand(broker, program, folder / f"rebalances-{once}", once)
        stand.feed(2_000_000)
        members = [stand.start("heartbeat.interval.ms: 200", "max-in-flight: 500") for _ in range(2)]
        for _ in range(50):
            wait("partitions to be read", lambda: reads(members[1]))
            members[1].end_soon()
            if code := members[1].await_end():
                raise Broken(f"a leaving member exited with {code}")
            members[1].start()
        left = stand.sent - stand.outputs.count
        stand.finish()
        figures.tell(f"{stand.name}: events left after 50 have joined and left", left, least=1)
        figures.tell(f"{stand.name}: repeated", len(stand.outputs.repeats), 0)
        stand.tell(figures, stand.name)


def reads(instance):
    return tells(instance, "serving partitions")


def tells(instance, words):
    return any(words in line for line in instance.lines())


def outage(figures, broker, program, folder, minutes):
    """Runs all four stands at once."""
    stands = [Stand(broker, program, folder / f"outage-{number}", number % 2 == 1) for number in range(4)]
    ways, probes = [], []
    for number, stand in enumerate(stands):
        stand.name += ", at the start" if number < 2 else ", in the middle"
        stand.feed(200_000)
        surroundings = Surroundings(folder / f"{number}.surroundings", stand.broker.ports)
        ways += surroundings.ways.values()
        for way in surroundings.ways.values():
            way.is_cut = number < 2
        probes.append(Probes(stand.start(environment=surroundings.environment)))
        if number >= 2:
            stand.await_outputs(50_000)
            for way in surroundings.ways.values():
                way.is_cut = True
    time.sleep(minutes * 60)
    before = [(stand.outputs.count, len(stand.ended()), probe.refusals) for stand, probe in zip(stands, probes)]
    for way in ways:
        way.is_cut = False
    restored = time.monotonic()
    for stand, probe, (count, ended, refusals) in zip(stands, probes, before):
        stand.finish(CAUGHT_UP)
        figures.tell(f"{stand.name}: instances that exited meanwhile", ended, 0)
        figures.tell(f"{stand.name}: events left at the end of the outage", stand.sent - count, least=1)
        figures.tell(f"{stand.name}: repeated", len(stand.outputs.repeats), 0 if stand.once else None)
        figures.tell(f"{stand.name}: failed readiness probes during the outage", refusals, least=1)
        figures.tell(f"{stand.name}: failed liveness probes", probe.dead, 0)
        ready = max(0.0, probe.unready - restored)
        figures.tell(f"{stand.name}: seconds until it was ready", ready, STARTED if stand in stands[:2] else REJOINED)
        figures.tell(f"{stand.name}: seconds until all was published", stand.outputs.latest - restored, CAUGHT_UP)
        stand.tell(figures, stand.name)


def partitions(figures, broker, program, folder, minutes):
    stand = Stand(broker, program, folder / "partitions", once=False, partitions=1000)
    instance = stand.start(STATIC)
    figures.tell("seconds from assigned to served, at first", served(instance), 5)
    figures.tell("seconds of CPU until then", instance.cpu)
    stand.feed(1_000_000)
    stand.await_outputs(stand.sent - Outputs.HELD)
    figures.tell("peak MB of resident memory under load", peak(instance), 400)
    instance.end_soon()
    instance.await_end()
    shutil.rmtree(stand.folder / "0/counts")
    instance.start()
    figures.tell("seconds from assigned to served, with counts to restore", served(instance), 5)
    figures.tell("seconds of CPU until then", instance.cpu)
    stand.finish()
    stand.tell(figures, "1,000 partitions")


def accounts(figures, broker, program, folder, minutes):
    """Restores 20 million counts, then has events of accounts that are not in memory, and the same once they are."""
    stand = Stand(broker, program, folder / "accounts", once=False)
    step = ACCOUNTS // FED - 1
    for partition in range(8):
        counts = range(partition, ACCOUNTS, 8)
        key = "\0\0\0\x10account-{:08}\t{}\n".format
        # So that an event's badge fits its number.
        stand.write("badges", (key(i, i // step // RECIPIENTS * 2) for i in counts), "-p", str(partition))
    instance = stand.start(STATIC)
    await_served(instance, 8)
    figures.tell("counts restored per second", int(ACCOUNTS / served(instance)), least=200_000)
    figures.tell("peak MB of resident memory while restoring", peak(instance), 512)
    instance.end_soon()
    instance.await_end()
    instance.start()
    await_served(instance, 8)
    figures.tell("seconds from the next start to partitions served", time.monotonic() - instance.started, 2)
    far, near = (cpu(stand, instance, lambda: feed_accounts(stand, step, again)) for again in (0, 1))
    figures.tell("us of CPU per event, counts not in memory", far * 1e6 / FED)
    figures.tell("us of CPU per event, counts in memory", near * 1e6 / FED)
    figures.tell("ratio", far / near, 1.5)
    figures.tell("peak MB of resident memory under load", peak(instance), 512)
    stand.finish()
    stand.tell(figures, "20 million accounts")


def await_served(instance, partitions):
    lines = lambda: map(json.loads, instance.lines())
    count = lambda: sum(one["count"] for one in lines() if one["message"] == "serving partitions")
    wait("all partitions to be read", lambda: count() == partitions, pause=0.01, patience=300)


def feed_accounts(stand, step, again):
    for partition in range(8):
        fed = (i for i in range(FED) if i * step % 8 == partition)
        number = lambda i: (i // RECIPIENTS * 2 + again) * RECIPIENTS + i % RECIPIENTS
        stand.write("in", (line(number(i), f"account-{i * step:08}") for i in fed), "-p", str(partition))
    stand.sent += FED


def cpu(stand, instance, feed):
    """Seconds of CPU that the instance takes for what is fed."""
    stand.await_outputs(stand.sent - Outputs.HELD)
    before = instance.cpu
    feed()
    stand.await_outputs(stand.sent - Outputs.HELD)
    return instance.cpu - before


def peak(instance):
    """The most MB of memory that the instance has had."""
    return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{instance.pid}/status").read())[1]) / 1024


def slow(figures, broker, program, folder, minutes):
    """Clients send a byte every 20 s for two minutes, then one per second for two minutes."""
    stand = Stand(broker, program, folder / "slow", once=False)
    instance = stand.start()
    stand.settle()
    lines = [json.loads(line) for line in instance.lines()]
    address = next(one["listen"] for one in lines if one["message"] == "the admin endpoint is up")
    for interval in (20, 1):
        command = [sys.executable, ROOT / "deploy/running/slow.py", address, "120", str(interval)]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
        answered, asked, slowest = map(int, re.findall(r"\d+", said))
        figures.tell(f"a byte every {interval} s: probes without an answer", asked - answered, 0)
        figures.tell(f"a byte every {interval} s: ms to the slowest answer", slowest, 999)
    stand.finish()


def served(instance):
    """Seconds from the first assigned partitions to the last that the instance began to read."""
    wait("partitions to be read", lambda: reads(instance) and time.time() - instance.log.stat().st_mtime > 3)
    lines = [json.loads(line) for line in instance.lines()]
    at = lambda message: [datetime.datetime.fromisoformat(one["time"]) for one in lines if one["message"] == message]
    return (max(at("serving partitions")) - min(at("partitions assigned"))).total_seconds()
