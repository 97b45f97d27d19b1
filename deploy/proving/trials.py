"""The trials, each with what it takes from beginning to end."""
import datetime, json, re, time

from processes import Broken, wait
from stand import Stand
from surroundings import Surroundings

STATIC = "group.instance.id: trials-0, session.timeout.ms: 30000"


def kill(figures, broker, program, folder, minutes):
    for once in (False, True):
        restart(figures, Stand(broker, program, folder / f"static-{once}", once))
        replace(figures, Stand(broker, program, folder / f"dynamic-{once}", once))


def restart(figures, stand):
    """An instance with a name of its own is killed five times, and started again when all it had published was seen."""
    title = f"{stand.name}, restarted"
    instance, outputs = stand.start(STATIC), stand.outputs
    stand.settle()
    stand.feed(1_500_000)
    stand.await_outputs(100_000)
    pauses, repeats = [], []
    for number in range(5):
        repeated = outputs.repeats
        instance.kill()
        wait("the last output", lambda: time.monotonic() > max(outputs.latest.values()) + 1)
        before = outputs.arrived
        instance.start()
        wait("a new output", lambda: outputs.arrived > before, pause=0.005)
        pauses.append(time.monotonic() - instance.started)
        stand.await_outputs(before + 100_000)
        repeats.append(outputs.repeats - repeated)
    figures.tell(f"{title}: events left after the last kill", stand.sent - outputs.arrived, least=1)
    figures.tell(f"{title}: repeated by one kill, at most", max(repeats), 0 if stand.once else 2500)
    figures.tell(f"{title}: seconds to the first new output, at most", max(pauses), 1)
    stand.end(figures, title)


def replace(figures, stand):
    """Of two instances one is killed and stays away."""
    title = f"{stand.name}, replaced"
    instance, outputs = stand.start(), stand.outputs
    stand.start()
    stand.settle()
    stand.feed(2_000_000)
    stand.await_outputs(200_000)
    instance.kill()
    killed = time.monotonic()
    # What was on its way comes out, and the other's partitions go on.
    time.sleep(3)
    silent = [partition for partition, latest in outputs.latest.items() if latest < killed + 2]
    figures.tell(f"{title}: partitions that fell silent", len(silent), least=1)
    goes_on = lambda: [outputs.latest[one] > killed + 3 for one in silent]
    wait("the other to go on", lambda: any(goes_on()), pause=0.005)
    figures.tell(f"{title}: seconds from the kill to their first new output", time.monotonic() - killed, 7)
    wait("the other to go on with all", lambda: all(goes_on()), pause=0.005)
    figures.tell(f"{title}: seconds from the kill to new outputs of all", time.monotonic() - killed)
    stand.end(figures, title, repeats=2500)


def rebalances(figures, broker, program, folder, minutes):
    """Each time that a member comes or goes is one at least."""
    for once in (False, True):
        stand = Stand(broker, program, folder / f"rebalances-{once}", once)
        stand.feed(2_000_000)
        members = [stand.start("heartbeat.interval.ms: 200", "max-in-flight: 500") for _ in range(2)]
        for _ in range(50):
            wait("partitions to be read", lambda: reads(members[1]))
            members[1].end_soon()
            if code := members[1].await_end():
                raise Broken(f"a member that was to go ended with {code}")
            members[1].start()
        figures.tell(f"{stand.name}: events left after 50 have come and gone", stand.sent - stand.outputs.arrived, least=1)
        stand.end(figures, stand.name, repeats=0)


def reads(instance):
    return any("partitions are read" in line for line in instance.lines())


def outage(figures, broker, program, folder, minutes):
    """All four at the same time."""
    stands = [Stand(broker, program, folder / f"outage-{number}", number % 2 == 1) for number in range(4)]
    ways = []
    for number, stand in enumerate(stands):
        stand.name += ", at the start" if number < 2 else ", in the middle"
        stand.feed(200_000)
        surroundings = Surroundings(folder / f"{number}.surroundings", stand.broker.ports)
        ways += surroundings.ways.values()
        for way in surroundings.ways.values():
            way.is_cut = number < 2
        stand.start(environment=surroundings.environment)
        if number >= 2:
            stand.await_outputs(50_000)
            for way in surroundings.ways.values():
                way.is_cut = True
    time.sleep(minutes * 60)
    before = [(stand.outputs.arrived, len(stand.ended())) for stand in stands]
    for way in ways:
        way.is_cut = False
    restored = time.monotonic()
    for stand, (arrived, ended) in zip(stands, before):
        figures.tell(f"{stand.name}: instances that ended meanwhile", ended, 0)
        figures.tell(f"{stand.name}: events left at the end of the outage", stand.sent - arrived, least=1)
        stand.end(figures, stand.name)
        figures.tell(f"{stand.name}: seconds until all was there", max(stand.outputs.latest.values()) - restored)


def partitions(figures, broker, program, folder, minutes):
    stand = Stand(broker, program, folder / "partitions", once=False, partitions=1000)
    instance = stand.start(STATIC)
    figures.tell("seconds from assigned to served, at first", served(instance), 5)
    stand.feed(1_000_000)
    stand.await_outputs(stand.sent)
    memory = re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{instance.pid}/status").read())
    figures.tell("MB of resident memory at most under load", int(memory[1]) / 1024, 400)
    instance.end_soon()
    instance.await_end()
    for file in (stand.folder / "0").rglob("*.sqlite*"):
        file.unlink()
    instance.start()
    figures.tell("seconds from assigned to served, with counts to restore", served(instance), 5)
    stand.end(figures, "1,000 partitions")


def served(instance):
    """The longest that one has waited."""
    wait("1,000 partitions to be read", lambda: len(times(instance, "partitions are read")) == 1000)
    time.sleep(3)
    assigned, read = times(instance, "partitions assigned"), times(instance, "partitions are read")
    return max(read[one] - assigned[one] for one in read)


def times(instance, message):
    """When the log has told this last, of each partition."""
    found = {}
    for entry in map(json.loads, instance.lines()):
        if entry["message"] == message:
            time = datetime.datetime.fromisoformat(entry["time"]).timestamp()
            for part in entry["partitions"].removeprefix("in/").split(","):
                first, _, last = part.partition("-")
                found.update((number, time) for number in range(int(first), int(last or first) + 1))
    return found
