"""The processes of a run, all of which end with it."""
import collections, contextlib, os, pathlib, shutil, signal, subprocess, sys, tempfile, threading, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 60


def release():
    """The program that is put to the proof: the release build, unless PUSHMILL names another."""
    subprocess.run([ROOT / "deploy/setup", "test"], check=True)
    if named := os.environ.get("PUSHMILL"):
        return named
    subprocess.run(
        ["swift", "build", "-c", "release", "--product", "pushmill"], cwd=ROOT, check=True, stdout=sys.stderr)
    return ROOT / ".build/release/pushmill"


def compiled(source, *options):
    """What a C file below `deploy` is compiled to, by Swift's clang."""
    source = ROOT / "deploy" / source
    made = ROOT / ".build/compiled" / source.stem
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["clang", "-O2", "-Wall", "-o", made, source, *options], check=True)
    return made


class Broken(Exception):
    """A promise that was not kept, and nothing more can be seen of the others."""


def wait(what, condition, pause=0.05, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"waited {patience} s for {what}")
        time.sleep(pause)


def leave(number, _):
    sys.exit(128 + number)


@contextlib.contextmanager
def place(name):
    """A folder for one run. With it goes what was started and mounted meanwhile, by whichever signal the run is ended."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # One that is ignored stays so, as with nohup.
    before = {number: old for number in signals if (old := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, leave)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"pushmill-{name}-"))
    try:
        yield folder
    finally:
        # A second signal does not keep it from clearing up.
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        while Process.all:
            Process.all.pop().clear()
        for mounted in filter(os.path.ismount, folder.iterdir()):
            subprocess.run(["umount", mounted], check=True)
        shutil.rmtree(folder)
        for number, old in before.items():
            signal.signal(number, old)


class Process:
    """A child, with what it starts itself, that ends with its run, however that ends."""

    all = []

    def __init__(self, command, log=None, grace=0, **more):
        self.child = subprocess.Popen(command, stderr=log or subprocess.DEVNULL, start_new_session=True, **more)
        # In seconds: the time to end by itself that it is given.
        self.grace = grace
        self.all.append(self)

    def send(self, number):
        """To its children too; to nobody where it has ended."""
        if self.child.poll() is None:
            self.send_group(number)

    def send_group(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, number)

    def clear(self):
        # It has ended, and what it had started too, where its number is another process's already.
        if self.child.poll() is not None and os.path.exists(f"/proc/{self.child.pid}"):
            return
        if self.grace and self.child.poll() is None:
            self.send(signal.SIGTERM)
            # It may be halted.
            self.send(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(self.grace)
        # Its children may outlive it.
        self.send_group(signal.SIGKILL)
        self.child.wait()


class Broker(Process):
    """A broker that prints its address in its first line."""

    def __init__(self, command, topics):
        words = [word for topic in topics for word in ("--topic", topic)]
        super().__init__([*command, *words], grace=5, stdout=subprocess.PIPE, text=True, errors="replace")
        self.address = self.child.stdout.readline().strip()
        if not self.address:
            sys.exit(f"{command[0]} printed no address")
        # What it says further is read too: a full pipe would halt it.
        threading.Thread(target=collections.deque, args=(self.child.stdout, 0), daemon=True).start()

    @property
    def ports(self):
        return [int(server.rsplit(":", 1)[1]) for server in self.address.split(",")]


class Crowd(Process):
    """`crowd.py`: many who watch a process at its admin endpoint, until that ends."""

    def __init__(self, address, pid, log):
        words = [sys.executable, ROOT / "deploy/running/crowd.py", address, str(pid)]
        super().__init__(words, log, stdout=subprocess.PIPE, text=True)

    def scrapes(self):
        """How many were answered in all, none where it has failed; waits for the end."""
        wait("the end of a crowd", lambda: self.child.poll() is not None)
        return int(self.child.stdout.read() or 0)


class Topic(Process):
    """Follows a topic as it is committed; each record is a list of words, the value last."""

    def __init__(self, broker, name, form):
        command = ["kcat", "-C", "-b", broker, "-t", name, "-o", "beginning", "-u", "-q", "-f", form + "\\n"]
        command += ["-X", "topic.metadata.refresh.interval.ms=1000", "-X", "isolation.level=read_committed"]
        super().__init__(command, stdout=subprocess.PIPE, text=True)
        self.records = []
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.child.stdout:
            self.records.append(line.rstrip("\n").split("\t"))


class Instance:
    """One instance of the service, through all its lives."""

    def __init__(self, number, program, folder, configuration, **environment):
        self.number, self.environment = number, {**os.environ, **environment}
        self.log = folder / f"{number}.log"
        file = folder / f"{number}.yaml"
        file.write_text(configuration)
        self.command = [program, "run", "--config", file]
        self.start()

    def start(self):
        self.is_leaving, self.started = False, time.monotonic()
        # What earlier lives have logged stays.
        self.born = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = Process(self.command, log, stdout=subprocess.DEVNULL, env=self.environment)

    @property
    def pid(self):
        return self.process.child.pid

    @property
    def code(self):
        """How this life has ended; none while it goes on."""
        return self.process.child.poll()

    def send(self, number):
        self.process.send(number)

    def kill(self):
        self.is_leaving = True
        self.process.clear()

    def end_soon(self):
        self.is_leaving, self.is_young = True, time.monotonic() - self.started < 5
        self.send(signal.SIGTERM)

    def await_end(self):
        """Its code, which is 0 where the signal came before it listened to any."""
        wait(f"the end of instance {self.number}", lambda: self.code is not None)
        return 0 if self.code == -signal.SIGTERM and self.is_young else self.code

    @property
    def cpu(self):
        """Seconds of it that this life has taken."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def lines(self):
        """What this life has logged."""
        with open(self.log) as log:
            log.seek(self.born)
            return log.read().splitlines()
