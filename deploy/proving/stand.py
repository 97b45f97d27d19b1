"""Where a trial takes place: a broker full of numbered events, instances that work them off, and what comes out."""
import os, re, subprocess, threading, time

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


def line(number):
    """An event as kcat takes it; the badge it should show is how often its recipient has come."""
    payload = f'{{"aps":{{"alert":"Hello","badge":1,"mutable-content":1}},"number":{number}}}'
    return f"user-{number % RECIPIENTS}\t{payload}\n"


class Outputs(Process):
    """Follows the output as it is committed, and holds each record against its event."""

    RECORD = re.compile(rb'^(\d+) .*?pushmill-source=in/(\d+)/(\d+).*?"badge":(\d+).*?"number":(\d+)', re.MULTILINE)

    def __init__(self, broker):
        command = ["stdbuf", "-oL", "kcat", "-C", "-b", broker, "-t", "out", "-o", "beginning", "-q", "-f", "%p %h %s\\n"]
        command += ["-X", "isolation.level=read_committed", "-X", "fetch.wait.max.ms=20"]
        super().__init__(command, stdout=subprocess.PIPE)
        self.seen, self.last = bytearray(), {}
        # Of each partition of the input, when something new of it has come last.
        self.latest = {}
        self.arrived = self.repeats = self.disorder = self.miscounted = 0
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        rest = b""
        while data := os.read(self.child.stdout.fileno(), 1 << 16):
            now = time.monotonic()
            text, _, rest = (rest + data).rpartition(b"\n")
            for words in self.RECORD.findall(text):
                self.take(now, *map(int, words))

    def take(self, now, place, partition, offset, badge, number):
        if self.seen[number]:
            self.repeats += 1
            return
        self.seen[number] = 1
        self.arrived += 1
        self.miscounted += badge != number // RECIPIENTS + 1
        self.disorder += offset < self.last.get((place, partition), -1)
        self.last[place, partition] = offset
        self.latest[partition] = now


class Stand:
    """With `once` it delivers exactly once."""

    def __init__(self, broker, program, folder, once, partitions=8):
        self.program, self.folder, self.once, self.sent = program, folder, once, 0
        self.name = "exactly once" if once else "at least once"
        folder.mkdir()
        topics = [f"in:{partitions}", f"out:{partitions}", "dead:1", f"badges:{partitions}:compact"]
        self.broker = Broker(broker, topics)
        self.outputs = Outputs(self.broker.address)
        self.instances = []

    def feed(self, count):
        """So many more events are in the input."""
        self.outputs.seen.extend(bytes(count))
        file = self.folder / "events"
        with open(file, "w") as lines:
            lines.writelines(map(line, range(self.sent, self.sent + count)))
        command = ["kcat", "-P", "-b", self.broker.address, "-t", "in", "-K", "\t", "-l", file]
        subprocess.run([*command, "-X", "enable.idempotence=true", "-X", "partitioner=murmur2"], check=True)
        file.unlink()
        self.sent += count

    def start(self, consumer="session.timeout.ms: 6000", delivery="", environment={}):
        """Another instance."""
        number = len(self.instances)
        (self.folder / str(number)).mkdir()
        text = CONFIGURATION.format(
            broker=self.broker.address, number=number, consumer=consumer, delivery=delivery,
            producer=f"transactional.id: trials-{number}" if self.once else "",
            guarantee="exactly-once" if self.once else "at-least-once")
        self.instances.append(Instance(number, self.program, self.folder, text, **environment))
        return self.instances[-1]

    def settle(self):
        """Until every instance has its partitions, and none has told anything for a while."""
        wait("the group to settle", lambda: all(
            "partitions are read" in one.log.read_text() and time.time() - one.log.stat().st_mtime > 5
            for one in self.instances))

    def await_outputs(self, count):
        """Watches, until so many events have come out, that they come and that nobody leaves."""
        while (before := self.outputs.arrived) < count:
            wait("another output", lambda: self.outputs.arrived > before or self.ended())
            if self.ended():
                raise Broken(f"instances have ended by themselves: {self.ended()}")

    def ended(self):
        return [instance.number for instance in self.instances if instance.code is not None and not instance.is_leaving]

    def end(self, figures, title, repeats=None):
        """Waits for what is left, and tells what has become of all."""
        try:
            self.await_outputs(self.sent)
        except Broken as error:
            print(error)
        for instance in self.instances:
            if instance.code is None:
                instance.end_soon()
                instance.await_end()
        # What was published twice at last comes at last.
        time.sleep(1)
        outputs = self.outputs
        figures.tell(f"{title}: lost of {self.sent:,}", self.sent - outputs.arrived, 0)
        figures.tell(f"{title}: badges wrong at first appearance", outputs.miscounted, 0)
        figures.tell(f"{title}: out of the order of offsets", outputs.disorder, 0)
        figures.tell(f"{title}: repeated in all", outputs.repeats, 0 if self.once else repeats)
        for process in [self.outputs, self.broker]:
            process.clear()


class Figures:
    """Prints each with its bound; `missed` are those beyond it."""

    def __init__(self):
        self.missed = 0

    def tell(self, what, figure, most=None, least=None):
        is_missed = most is not None and figure > most or least is not None and figure < least
        self.missed += is_missed
        bound = "" if most is least else f"at most {most:,}" if least is None else f"at least {least:,}"
        shown = f"{figure:,.2f}" if isinstance(figure, float) else f"{figure:,}"
        print(f"  {what:62} {shown:>10}  {bound}{'  MISSED' if is_missed else ''}", flush=True)
