"""What an instance says of itself while it lives, and what the system says of it."""
import collections, http.client, json, os, re, sys, threading, time, urllib.request

from processes import Crowd, wait

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Life:
    """One life of an instance, watched as by many: 10 scrapes a second and 100 followers of its log. `metrics` are what
    it told last."""

    def __init__(self, instance):
        self.instance, self.pid, self.metrics = instance, instance.pid, {}
        self.began = self.told = self.ended = time.monotonic()
        wait("the admin endpoint", self.find, pause=0.01)
        self.process = instance.process
        self.crowd = Crowd(self.address, self.pid, open(instance.log.with_name("crowd.log"), "a"))
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def find(self):
        """The address is in the log."""
        for line in filter(lambda line: '"listen"' in line, self.instance.lines()):
            self.address = json.loads(line)["listen"]
            return True
        return self.instance.code is not None and sys.exit(f"instance {self.instance.number} did not start")

    def follow(self):
        """To the end of this life; when it ends without a pause, for what it says last counts. The admin endpoint is the
        last that it closes; before, a scrape fails where the machine is busy."""
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
        """How many records it has published, by outcome."""
        counts = collections.Counter()
        for (name, labels), value in list(self.metrics.items()):
            if name == "pushmill_records_published_total":
                counts[re.search(r'outcome="([^"]*)"', labels)[1]] += int(value)
        return counts

    def untold(self, rate):
        """So many records at most it may have published after its last word: those in flight, and those taken since."""
        return self.total("pushmill_in_flight_messages") + rate * (self.ended - self.told)

    def state(self):
        """Resident memory in MB, descriptors, threads, lag; None where it has ended."""
        try:
            with open(f"/proc/{self.pid}/status") as status:
                text = status.read()
            found = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", text, re.MULTILINE))
            descriptors = len(os.listdir(f"/proc/{self.pid}/fd"))
            lag = self.total("pushmill_consumer_lag_records")
            return int(found["VmRSS"]) / 1024, descriptors, int(found["Threads"]), lag
        except (OSError, KeyError):
            return None
