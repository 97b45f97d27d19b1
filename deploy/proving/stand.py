"""Where a trial takes place: a broker full of numbered events, instances that work them off, and what comes out."""
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


def line(number):
    """An event as kcat takes it; the badge it should show is how often its recipient has come."""
    payload = f'{{"aps":{{"alert":"Hello","badge":1,"mutable-content":1}},"number":{number}}}'
    return f"user-{number % RECIPIENTS}\t{payload}\n"


class Outputs(Process):
    """Follows the output as it is committed. What came is looked at when all is over, to leave the service the machine."""

    RECORD = re.compile(rb'^(\d+) .*?-source=in/(\d+)/(\d+).*?"badge":(\d+).*?"number":(\d+)', re.MULTILINE)
    # kcat keeps so many bytes, which are fewer records than that, until there are more or it ends.
    BUFFER, HELD = 1 << 15, 300

    def __init__(self, broker):
        command = ["stdbuf", "-o", str(self.BUFFER), "kcat", "-C", "-b", broker, "-t", "out", "-o", "beginning", "-q"]
        command += ["-f", "%p %h %s\\n", "-X", "isolation.level=read_committed", "-X", "fetch.wait.max.ms=20"]
        # Where its queue is full librdkafka looks only once a second whether there is room again: it never is.
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
        """Holds each record against its event."""
        # When each came last; never, for what is lost.
        seen, last, rest = array.array("d", bytes(8 * sent)), {}, b""
        # When something new has come, of each partition of the input; when something came again, and when before that.
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
        """Between which times nothing new has come, for each partition of which something has before and after."""
        found = [(times, bisect.bisect_left(times, moment)) for times in self.times.values()]
        return [(times[index - 1], times[index]) for times, index in found if 0 < index < len(times)]


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
            "serving partitions" in one.log.read_text() and time.time() - one.log.stat().st_mtime > 3
            for one in self.instances))

    def await_outputs(self, count, within=math.inf):
        """Watches, until there are so many outputs, that they come and that nobody leaves."""
        end = time.monotonic() + within
        while (before := self.outputs.count) < count:
            if time.monotonic() > end:
                raise Broken(f"{before:,} of {count:,} outputs have come within {within} s")
            wait("another output", lambda: self.outputs.count > before or self.ended())
            if self.ended():
                raise Broken(f"instances have ended by themselves: {self.ended()}")

    def ended(self):
        return [instance.number for instance in self.instances if instance.code is not None and not instance.is_leaving]

    def finish(self, within=math.inf):
        """Waits for what is left. What is lost is told by the figures."""
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
        figures.tell(f"{title}: badges wrong at first appearance", self.outputs.miscounted, 0)
        figures.tell(f"{title}: not in the order of offsets", self.outputs.disorder, 0)


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
