"""What an instance reports while it runs, and what the system reports about it."""
import collections, http.client, json, os, re, sys, threading, time, urllib.request

from processes import Crowd, wait

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def address(instance):
    """Returns the address of the admin endpoint as soon as it is in the log."""
    def told():
        if instance.code is not None:
            sys.exit(f"instance {instance.number} did not start")
        return [json.loads(line)["listen"] for line in instance.lines() if '"listen"' in line]
    wait("the admin endpoint", told, pause=0.01)
    return told()[0]


class Probes:
    """Probes an instance like Kubernetes, with its timeout but more often, until the instance is told to end."""

    PAUSE, PATIENCE = 0.5, 3

    def __init__(self, instance):
        self.instance, self.address = instance, address(instance)
        # How often it was not alive; when it last was not ready, and how often.
        self.dead, self.unready, self.refusals = 0, time.monotonic(), 0
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while True:
            is_alive, is_ready = self.ask("/healthz"), self.ask("/readyz")
            # Answers during its shutdown do not count.
            if self.instance.is_leaving:
                return
            self.dead += not is_alive
            if not is_ready:
                self.unready, self.refusals = time.monotonic(), self.refusals + 1
            time.sleep(self.PAUSE)

    def ask(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=self.PATIENCE):
                return True
        except (OSError, http.client.HTTPException):
            return False


class Life:
    """One process of an instance, watched by a crowd: 10 scrapes per second and 100 followers of its log. `metrics` are
    its latest values."""

    def __init__(self, instance):
        self.instance, self.pid, self.metrics = instance, instance.pid, {}
        self.began = self.told = self.ended = time.monotonic()
        self.address = address(instance)
        self.process = instance.process
        self.crowd = Crowd(self.address, self.pid, open(instance.log.with_name("crowd.log"), "a"))
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def follow(self):
        """Scrapes until the process has exited; without a pause during its shutdown, because the last values count. It
        closes the admin endpoint last; before that, a scrape fails only on a busy machine."""
        while self.process.child.poll() is None and (self.scrape() or not self.instance.is_leaving):
            wait_until = time.monotonic() + 0.5
            while not self.instance.is_leaving and time.monotonic() < wait_until:
                time.sleep(0.02)
        self.ended = time.monotonic()

    def scrape(self):
        begun = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return False
        self.told = begun
        self.metrics = {(name, labels or ""): float(value) for name, labels, value in SAMPLE.findall(text)}
        return True

    def total(self, name, label=""):
        return sum(value for (found, labels), value in list(self.metrics.items()) if found == name and label in labels)

    def outcomes(self):
        """The number of published records by outcome."""
        counts = collections.Counter()
        for (name, labels), value in list(self.metrics.items()):
            if name == "pushmill_records_published_total":
                counts[re.search(r'outcome="([^"]*)"', labels)[1]] += int(value)
        return counts

    def untold(self, rate):
        """An upper bound of the records published after the last scrape: those in flight, and those consumed since."""
        return self.total("pushmill_in_flight_messages") + rate * (self.ended - self.told)

    def state(self):
        """Resident memory in MB, descriptors, threads, lag; None if it has exited."""
        try:
            with open(f"/proc/{self.pid}/status") as status:
                text = status.read()
            found = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", text, re.MULTILINE))
            descriptors = len(os.listdir(f"/proc/{self.pid}/fd"))
            lag = self.total("pushmill_consumer_lag_records")
            return int(found["VmRSS"]) / 1024, descriptors, int(found["Threads"]), lag
        except (OSError, KeyError):
            return None
