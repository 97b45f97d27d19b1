"""The setting of a trial: a broker full of numbered events, instances that process them, and their outputs."""
import array, bisect, collections, math, os, re, signal, subprocess, threading, time

from processes import Broken, Broker, Instance, Process, wait

RECIPIENTS = 10_000

CONFIGURATION = """
kafka:
  bootstrap.servers: "{broker}"
  consumer: {{ group.id: trials, auto.offset.reset: earliest, {consumer} }}
  producer: {{ {producer} }}
topics: {{ input: [in], output: out, dead-letter: dead, badge-changelog: badges }}
delivery: {{ guarantee: {guarantee}, {delivery} }}
state: {{ path: {number}/state.sqlite }}
stages:
  - badge: {{ mode: increment }}
admin: {{ listen: "127.0.0.1:0" }}
log: {{ level: info, format: json }}
"""


def line(number, recipient=None):
    """An event as a line for kcat; its expected badge is the number of its recipient's events so far."""
    payload = f'{{"aps":{{"alert":"Hello","badge":1,"mutable-content":1}},"number":{number}}}'
    return f"{recipient or f'user-{number % RECIPIENTS}'}\t{payload}\n"


class Outputs(Process):
    """Follows the committed output. Parses it only at the end, to leave the machine to the service."""

    RECORD = re.compile(rb'^(\d+) .*?-source=in/(\d+)/(\d+).*?"badge":(\d+).*?"number":(\d+)', re.MULTILINE)
    # kcat holds back this many bytes, which are fewer records than HELD, until more arrive or it exits.
    BUFFER, HELD = 1 << 15, 300

    def __init__(self, broker):
        command = ["stdbuf", "-o", str(self.BUFFER), "kcat", "-C", "-b", broker, "-t", "out", "-o", "beginning", "-q"]
        command += ["-f", "%p %h %s\\n", "-X", "isolation.level=read_committed", "-X", "fetch.wait.max.ms=20"]
        # With a full queue librdkafka checks for room only once per second, so the queue must never be full.
        command += ["-X", "queued.min.messages=10000000", "-X", "queued.max.messages.kbytes=2097151"]
        super().__init__(command, stdout=subprocess.PIPE)
        self.chunks, self.count, self.latest = [], 0, 0.0
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def follow(self):
        while data := os.read(self.child.stdout.fileno(), 1 << 16):
            self.latest = time.monotonic()
            self.chunks.append((self.latest, data))
            self.count += data.count(b"\n")

    def is_quiet(self, seconds):
        return time.monotonic() > self.latest + seconds

    def digest(self, sent):
        """Compares each record with its event."""
        # The latest arrival of each event; 0 if it is lost.
        seen, last, rest = array.array("d", bytes(8 * sent)), {}, b""
        # Arrivals of new events by input partition; for repeats, the previous arrival and this one.
        self.times, self.repeats = collections.defaultdict(list), []
        self.disorder = self.miscounted = 0
        for at, data in self.chunks:
            text, _, rest = (rest + data).rpartition(b"\n")
            for words in self.RECORD.findall(text):
                place, partition, offset, badge, number = map(int, words)
                before, seen[number] = seen[number], at
                if before:
                    self.repeats.append((before, at))
                    continue
                self.miscounted += badge != number // RECIPIENTS + 1
                self.disorder += offset < last.get((place, partition), -1)
                last[place, partition] = offset
                self.times[partition].append(at)
        self.lost = seen.count(0)

    def around(self, moment):
        """For each partition with arrivals before and after the moment: the last before it and the first after it."""
        found = [(times, bisect.bisect_left(times, moment)) for times in self.times.values()]
        return [(times[index - 1], times[index]) for times, index in found if 0 < index < len(times)]


class Stand:
    """`once`: delivers exactly once."""

    def __init__(self, broker, program, folder, once, partitions=8):
        self.program, self.folder, self.once, self.sent = program, folder, once, 0
        self.name = "exactly once" if once else "at least once"
        folder.mkdir()
        topics = [f"in:{partitions}", f"out:{partitions}", "dead:1", f"badges:{partitions}:compact"]
        self.broker = Broker(broker, topics)
        self.outputs = Outputs(self.broker.address)
        self.instances = []

    def feed(self, count):
        """Adds events to the input."""
        self.write("in", map(line, range(self.sent, self.sent + count)), "-X", "partitioner=murmur2")
        self.sent += count

    def write(self, topic, lines, *options):
        """Adds records of a key, a tab and a value."""
        file = self.folder / "records"
        with open(file, "w") as records:
            records.writelines(lines)
        command = ["kcat", "-P", "-b", self.broker.address, "-t", topic, "-K", "\t", "-l", file]
        subprocess.run([*command, "-X", "enable.idempotence=true", *options], check=True)
        file.unlink()

    def start(self, consumer="session.timeout.ms: 6000", delivery="", environment={}):
        """Starts another instance."""
        number = len(self.instances)
        (self.folder / str(number)).mkdir()
        text = CONFIGURATION.format(
            broker=self.broker.address, number=number, consumer=consumer, delivery=delivery,
            producer=f"transactional.id: trials-{number}" if self.once else "",
            guarantee="exactly-once" if self.once else "at-least-once")
        self.instances.append(Instance(number, self.program, self.folder, text, **environment))
        return self.instances[-1]

    def settle(self):
        """Waits until every instance has its partitions and has logged nothing for a while."""
        wait("the group to settle", lambda: all(
            "serving partitions" in one.log.read_text() and time.time() - one.log.stat().st_mtime > 3
            for one in self.instances))

    def await_outputs(self, count, within=math.inf):
        """Waits for this many outputs; fails if they stop or an instance exits."""
        end = time.monotonic() + within
        while (before := self.outputs.count) < count:
            if time.monotonic() > end:
                raise Broken(f"{before:,} of {count:,} outputs within {within} s")
            wait("another output", lambda: self.outputs.count > before or self.ended())
            if self.ended():
                raise Broken(f"instances exited by themselves: {self.ended()}")

    def ended(self):
        return [instance.number for instance in self.instances if instance.code is not None and not instance.is_leaving]

    def finish(self, within=math.inf):
        """Waits for the remaining outputs. The figures report lost ones."""
        try:
            self.await_outputs(self.sent - Outputs.HELD, within)
        except Broken as error:
            print(f"  {error}")
        wait("the last output", lambda: self.outputs.is_quiet(3))
        for instance in self.instances:
            if instance.code is None:
                instance.end_soon()
                instance.await_end()
        time.sleep(1)
        self.outputs.send(signal.SIGTERM)
        self.outputs.reader.join()
        self.broker.clear()
        self.outputs.digest(self.sent)

    def tell(self, figures, title):
        figures.tell(f"{title}: lost of {self.sent:,}", self.outputs.lost, 0)
        figures.tell(f"{title}: wrong badges, without repeats", self.outputs.miscounted, 0)
        figures.tell(f"{title}: out of offset order", self.outputs.disorder, 0)


class Figures:
    """Prints each figure with its bound; `missed` counts those beyond it."""

    def __init__(self):
        self.missed = 0

    def tell(self, what, figure, most=None, least=None):
        is_missed = most is not None and figure > most or least is not None and figure < least
        self.missed += is_missed
        bound = "" if most is least else f"at most {most:,}" if least is None else f"at least {least:,}"
        shown = f"{figure:,.2f}" if isinstance(figure, float) else f"{figure:,}"
        print(f"  {what:62} {shown:>10}  {bound}{'  MISSED' if is_missed else ''}", flush=True)
