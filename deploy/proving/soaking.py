"""A long run under load."""
import collections, signal, sys, time

import trend
from life import Life
from load import Files, Flow, ciphertexts
from processes import PATIENCE, Broken, Broker, Instance, wait

RECIPIENTS = 20_000
# The embedded broker keeps 5 MB per partition: with 64, more events than can be on their way.
PARTITIONS = 64
WINDOW = 150_000
RELOAD_EVERY = 10
# One instance is down for a third of each period, in seconds.
PERIOD = 60
# The minimum of answered scrapes per second: half of those sent, because the machine is busy.
SCRAPES = 5

CONFIGURATION = """
kafka:
  bootstrap.servers: "{broker}"
  consumer: {{ group.id: soak, auto.offset.reset: earliest, fetch.wait.max.ms: 50 }}
  producer: {{ {producer} }}
topics: {{ input: [in], output: out, dead-letter: dead, badge-changelog: badges }}
delivery: {{ guarantee: {guarantee} }}
state: {{ path: state{number} }}
stages:
  - decrypt: {{ keys: keys.jwks.json, formats: [jwe] }}
  - localize: {{ catalog: catalog, default-locale: en }}
  - contact: {{ source: contacts.jsonl }}
  - badge: {{ mode: increment }}
admin: {{ listen: "127.0.0.1:0" }}
log: {{ level: info, format: json }}
"""


class Soak:
    def __init__(self, program, broker, once, folder):
        self.once = once
        self.broken, self.samples, self.lives = [], [], []
        self.restarts = self.fastest = self.scrapes = 0
        topics = [f"in:{PARTITIONS}", f"out:{PARTITIONS}"]
        address = Broker(broker, [*topics, "dead:1"]).address
        self.files = Files(folder, RECIPIENTS)
        self.flow = Flow(
            address, ciphertexts(program, folder), RECIPIENTS, WINDOW, open(folder / "flow.log", "w"))
        self.instances = [
            Instance(number, program, folder, self.configuration(address, number)) for number in range(2)]
        self.watched = [self.watch(instance) for instance in self.instances]

    def configuration(self, address, number):
        return CONFIGURATION.format(
            broker=address, number=number, producer=f"transactional.id: soak-{number}" if self.once else "",
            guarantee="exactly-once" if self.once else "at-least-once")

    def watch(self, instance):
        self.lives.append(Life(instance))
        return self.lives[-1]

    def run(self, seconds, rate):
        self.flow.tell("rate 1000")
        wait("every partition to be read", lambda: self.arriving() >= 900)
        rate = rate or self.find_rate()
        print(f"{rate} events per second for {seconds / 60:g} minutes", flush=True)
        self.hold(seconds, rate)
        self.flow.tell("end")
        self.expect(self.flow.await_end() == 0, f"flow.c exited with {self.flow.child.returncode}")
        self.end()
        self.judge()

    def arriving(self):
        return self.flow.reports[-1]["seen"] if self.flow.reports else 0

    def find_rate(self):
        """Starts from the throughput without a rate limit, and lowers the rate until no backlog is left at the end of a
        period."""
        self.flow.tell("rate 0")
        time.sleep(15)
        most = sum(report["seen"] for report in self.flow.reports[-8:]) / 8
        print(f"at most {most:.0f} events per second", flush=True)
        for share in (0.7, 0.6, 0.5, 0.4, 0.3):
            rate = int(most * share) // 100 * 100
            self.flow.tell("rate 1")
            wait("the backlog", lambda: self.backlog() < 1000)
            print(f"trying {rate} per second", flush=True)
            self.hold(PERIOD, rate)
            self.samples.clear()
            if self.backlog() < rate:
                return rate
        raise Broken("no rate can be sustained")

    def backlog(self):
        last = self.flow.reports[-1]
        return last["sent"] - last["arrived"]

    def hold(self, seconds, rate):
        """Takes a sample per second; reloads and restarts on schedule."""
        self.flow.tell(f"rate {rate}")
        self.fastest = max(self.fastest, rate)
        begin = time.monotonic()
        for second in range(1, int(seconds) + 1):
            time.sleep(max(0, begin + second - time.monotonic()))
            if self.flow.child.poll() is not None:
                raise Broken("flow.c has exited")
            self.sample()
            if second % RELOAD_EVERY == 5:
                self.reload()
            if second % PERIOD == PERIOD // 3:
                self.instances[1].end_soon()
            elif second % PERIOD == PERIOD * 2 // 3:
                self.restart()
            self.show(second, seconds)

    def sample(self):
        """Samples the instance that stays up."""
        report, state = self.flow.reports[-1], self.watched[0].state()
        if state is None:
            raise Broken(f"instance 0 exited with {self.instances[0].code}")
        if time.monotonic() - self.watched[0].told > PATIENCE:
            raise Broken(f"instance 0 has answered no scrape for {PATIENCE} s")
        memory, descriptors, threads, lag = state
        self.samples.append(dict(
            memory=memory, descriptors=descriptors, threads=threads, lag=lag, waiting=self.backlog(),
            p50=report["p50"] or None, p99=report["p99"] or None))

    def reload(self):
        self.files.write()
        for instance in self.instances:
            if instance.code is None:
                instance.send(signal.SIGHUP)

    def restart(self):
        code = self.instances[1].await_end()
        self.expect(code == 0, f"instance 1 exited with {code}")
        self.restarts += 1
        self.instances[1].start()
        self.watched[1] = self.watch(self.instances[1])

    def show(self, second, seconds):
        """Rewrites the same line on a terminal."""
        on_terminal = sys.stdout.isatty()
        if not on_terminal and second % 10:
            return
        last, report = self.samples[-1], self.flow.reports[-1]
        print(
            f"{second:5} of {seconds:.0f} s: {self.arriving():6} per second, {self.backlog():6} on their way, "
            f"{last['memory']:4.0f} MB, {last['descriptors']:4} descriptors, {last['threads']} threads, "
            f"50 % {report['p50']:6.1f} ms, 99 % {report['p99']:7.1f} ms", end="\r" if on_terminal else "\n", flush=True)

    def end(self):
        """Waits until nothing is in flight, so that the metrics are final, and stops the instances."""
        if self.instances[1].code is not None:
            self.restart()
        wait("nothing to be in flight", lambda: all(
            life.scrape() and not life.total("pushmill_in_flight_messages") for life in self.watched))
        for instance in self.instances:
            instance.end_soon()
        for instance in self.instances:
            self.expect(instance.await_end() == 0, f"instance {instance.number} exited with {instance.code}")
        for life in self.lives:
            life.reader.join()
            scrapes, seconds = life.crowd.scrapes(), life.ended - life.began
            self.scrapes += scrapes
            self.expect(
                scrapes >= SCRAPES * seconds,
                f"instance {life.instance.number} answered {scrapes} scrapes in {seconds:.0f} s")

    def expect(self, holds, what):
        if not holds:
            self.broken.append(what)

    def judge(self):
        last = self.flow.reports[-1]
        print()
        self.broken += trend.table(self.samples)
        print(f"{last['sent']} events in, {self.files.edition} editions of the files, {self.restarts} restarts; out: "
              + ", ".join(f"{count} {outcome}" for outcome, count in last["outcomes"].items())
              + f"; {last['repeats']} of them repeats; {self.scrapes} scrapes were answered")
        wrongs = {
            "events lost": last["sent"] - last["arrived"], "outputs without an event": last["strangers"],
            "events out of order": last["disorder"],
            "wrong outputs": last["wrong"],
            "wrong badges": last["miscounted"],
            "events behind schedule": last["held"],
            "events published twice": self.once and last["repeats"],
        }
        self.broken += [f"{what}: {count}" for what, count in wrongs.items() if count]
        self.expect(
            last["edition"] == self.files.edition, f"edition {last['edition']} of {self.files.edition} came last")
        self.compare_outcomes(last["outcomes"])

    def compare_outcomes(self, outcomes):
        """The outcomes that all processes counted must match the outputs, except for those after their last scrapes."""
        untold = sum(life.untold(self.fastest) for life in self.lives if life not in self.watched)
        # Outputs of an aborted transaction were acknowledged and are published again.
        has_aborted = any(life.total("pushmill_transactions_total", 'result="aborted"') for life in self.lives)
        counted = sum((life.outcomes() for life in self.lives), collections.Counter())
        counted["dead-letter"] = int(sum(life.total("pushmill_dead_letters_total") for life in self.lives))
        for outcome in sorted(counted.keys() | outcomes.keys()):
            missing = outcomes.get(outcome, 0) - counted[outcome]
            self.expect(
                missing <= untold and (missing >= 0 or has_aborted),
                f"{missing} {outcome} outputs were not counted; at most {untold:.0f} allowed")
            untold -= max(0, missing)
            print(f"{counted[outcome]} counted as {outcome}, {missing} fewer than came out")
        failed = int(sum(life.total("pushmill_reloads_total", 'result="failed"') for life in self.lives))
        self.expect(failed == 0, f"{failed} reloads failed")
