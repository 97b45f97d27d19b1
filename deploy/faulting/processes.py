"""The processes of a scene."""
import subprocess, threading


class Process:
    """A child that ends with its scene, however that ends."""

    all = []

    def __init__(self, command, log=None, **pipes):
        self.child = subprocess.Popen(command, stderr=log or subprocess.DEVNULL, **pipes)
        self.all.append(self)

    def send(self, number):
        self.child.send_signal(number)

    def clear(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()


class Topic(Process):
    """Follows a topic; each record is a list of words, the value last."""

    def __init__(self, broker, name, form):
        command = ["kcat", "-C", "-b", broker, "-t", name, "-o", "beginning", "-u", "-q", "-f", form + "\\n"]
        super().__init__(command + ["-X", "topic.metadata.refresh.interval.ms=1000"], stdout=subprocess.PIPE, text=True)
        self.records = []
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.child.stdout:
            self.records.append(line.rstrip("\n").split("\t"))
