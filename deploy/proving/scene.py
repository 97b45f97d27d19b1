"""Instances of the service on one broker, a stream of events, and their outputs."""
import json, os, shutil, subprocess, time

from account import Account, Waiting
from faults import inject, mount, schedule
from processes import Broken, Broker, Instance, Process, ROOT, Topic, wait
from surroundings import Surroundings

KEYS = 50
PARTITIONS = 16

CONFIGURATION = """
kafka:
  bootstrap.servers: "{broker}"
  consumer: {{ group.id: faults, session.timeout.ms: {session}000, {consumer}, fetch.wait.max.ms: 50 }}
  producer: {{ {producer} }}
topics: {{ input: [in], output: out, dead-letter: dead, badge-changelog: badges }}
delivery: {{ guarantee: {guarantee}, ordering: {ordering} }}
state: {{ path: {state} }}
stages:
  - decrypt: {{ keys: keys.jwks.json, formats: [jwe, aes-gcm] }}
  - localize: {{ catalog: {root}/deploy/sample/catalog, default-locale: en }}
  - contact: {{ source: {root}/deploy/sample/contacts.jsonl }}
{badge}
admin: {{ listen: "127.0.0.1:0" }}
log: {{ level: info, format: json }}
"""


class Scene:
    """`once`: delivers exactly once. `badge`: counts. `is_static`: instances are static members with long sessions.
    `rate`: events per second."""

    def __init__(self, plan, rate, broker, program, folder):
        self.title, instances, self.badge, self.once, self.ordering, self.is_static = plan
        self.session = 15 if self.is_static else 6
        self.rate, self.program, self.folder = rate, program, folder
        # The small disk is only for a single instance: each would need one.
        self.is_alone = instances == 1
        self.broken = []
        self.sent = 0
        self.broker = Broker(broker, [f"in:{PARTITIONS}", f"out:{PARTITIONS}", "dead:1"])
        self.disk = folder / "disk"
        if self.is_alone:
            mount(self.disk)
        keys = shutil.copy(ROOT / "deploy/sample/keys.jwks.json", folder)
        os.chmod(keys, 0o600)
        self.surroundings = [
            Surroundings(folder / f"{number}.surroundings", self.broker.ports) for number in range(instances)]
        self.instances = [
            Instance(number, program, folder, self.configuration(number), **self.surroundings[number].environment)
            for number in range(instances)]
        self.guests = 0
        self.open_feeder()
        address = self.broker.address
        self.inputs = Topic(address, "in", "in/%p/%o\t%k\t%s")
        self.outputs = Topic(address, "out", "%h\t%k\t%s")
        self.letters = Topic(address, "dead", "%h\t%k\t%s")
        self.waiting = Waiting(self.inputs, self.outputs, self.letters)

    def configuration(self, number):
        folder = self.disk if self.is_alone else self.folder
        return CONFIGURATION.format(
            broker=self.broker.address, root=ROOT, state=folder / f"state{number}",
            producer=f"transactional.id: faults-{number}" if self.once else "",
            session=self.session, consumer=f"group.instance.id: faults-{number}" if self.is_static
            else "heartbeat.interval.ms: 500, max.poll.interval.ms: 10000",
            guarantee="exactly-once" if self.once else "at-least-once", ordering=self.ordering,
            badge="  - badge: { mode: increment }" if self.badge else "")

    def say(self, text):
        print(f"  {time.monotonic() - self.began:6.2f} s  {text}", flush=True)

    def expect(self, holds, what):
        if not holds:
            self.broken.append(what)

    def open_feeder(self):
        """Events expire after a week, which no clock fault reaches."""
        command = ["kcat", "-P", "-b", self.broker.address, "-t", "in", "-K", "\t", "-X", "enable.idempotence=true"]
        command += ["-H", f"apns-expiration={int(time.time()) + 7 * 86400}"]
        self.feeder = Process(
            command + ["-X", "partitioner=murmur2", "-X", "linger.ms=5"], stdin=subprocess.PIPE, text=True)

    def close_feeder(self):
        """kcat sends its last lines at the end of its input."""
        self.feeder.child.stdin.close()
        wait("the feeder's end", lambda: self.feeder.child.poll() is not None)

    def feed(self, count):
        """Sends events; one in 50 is not a valid notification."""
        for number in range(self.sent, self.sent + count):
            event = {"aps": {"alert": {"loc-key": "PHOTOS", "loc-args": ["2", "{contact:c1}"]}, "badge": 1,
                             "mutable-content": 1}, "number": number}
            text = json.dumps(event) if number % 50 else f"broken {number}"
            self.feeder.child.stdin.write(f"k{number * 7919 % KEYS}\t{text}\n")
        self.feeder.child.stdin.flush()
        self.sent += count

    def rest(self, length):
        """Waits while events continue."""
        end = time.monotonic() + length
        while (now := time.monotonic()) < end:
            due = int((now - self.began) * self.rate) - self.sent
            if due > 0:
                self.feed(due)
            self.watch()
            time.sleep(min(0.02, end - now))

    def welcome(self):
        """Starts an instance that is new to the group."""
        number = len(self.surroundings) + self.guests
        self.guests += 1
        self.instances.append(Instance(number, self.program, self.folder, self.configuration(number)))
        return self.instances[-1]

    def dismiss(self, guest):
        """Stops an instance for good; a static member keeps its place in the group until its session ends."""
        guest.end_soon()
        self.await_end(guest)
        self.instances.remove(guest)

    def watch(self):
        """Fails if an instance exits by itself."""
        self.waiting.look()
        for instance in self.instances:
            if instance.code is not None and not instance.is_leaving:
                raise Broken(f"instance {instance.number} exited with {instance.code}")

    def await_end(self, instance):
        code = instance.await_end()
        self.expect(code == 0, f"instance {instance.number} exited with {code}")

    def run(self, seconds, chance):
        print(self.title)
        faults = schedule(self, seconds, chance)
        self.began = time.monotonic()
        for fault in faults:
            self.rest(self.began + fault.at - time.monotonic())
            name = "broker" if fault.kind == "outage" else f"instance {fault.number}"
            self.say(f"{fault.kind}: {name}, {fault.length:.1f} s (due at {fault.at:.1f})")
            if hindrance := inject(self, fault):
                self.say(f"{fault.kind}: {hindrance}")
        self.rest(self.began + seconds - time.monotonic())
        self.say(f"end of faults; {self.sent} events sent; longest stall of a partition: {self.waiting}")
        self.waiting.heal()
        self.settle()
        still = f"longest stall of a partition after the faults: {self.waiting}"
        self.say(still)
        # Time for the session of a lost instance to end and its partitions to move.
        self.expect(self.waiting.longest < self.session + 15, still)
        self.end_all()
        before = len(self.outputs.records) + len(self.letters.records)
        for instance in self.instances:
            instance.start()
        self.open_feeder()
        self.feed(200)
        self.settle()
        self.end_all()
        repeats = len(self.outputs.records) + len(self.letters.records) - before - 200
        self.expect(repeats == 0, f"{repeats} repeated after a clean shutdown")
        self.count()

    def end_all(self):
        for instance in self.instances:
            instance.end_soon()
        for instance in self.instances:
            self.await_end(instance)

    def settle(self):
        """Waits until every event has an output."""
        self.close_feeder()
        wait("the input", lambda: len(self.inputs.records) >= self.sent)
        wait("every event", lambda: self.watch() or not self.waiting.is_any)

    def count(self):
        account = Account(self.sent, self.inputs, self.outputs, self.letters, self.badge, self.once)
        self.broken += account.broken
        self.say(account)
