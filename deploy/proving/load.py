"""The events of a soak and the files that the service reads meanwhile, each of many editions."""
import json, os, shutil, subprocess, threading

from processes import ROOT, Process, compiled, wait

SECRETS = 64


class Files:
    """Keys, a catalog and contacts in a folder, where they are read from and written anew."""

    def __init__(self, folder, recipients):
        self.folder, self.recipients, self.edition = folder, recipients, 0
        self.keys = json.loads((ROOT / "deploy/sample/keys.jwks.json").read_text())["keys"]
        (folder / "catalog/en.lproj").mkdir(parents=True)
        self.write()

    def write(self):
        """Titles name the edition; the names stay, and the keys that are in use."""
        self.edition += 1
        spare = {"kty": "oct", "kid": f"spare-{self.edition}", "alg": "dir", "k": "A" * 43}
        self.put("keys.jwks.json", json.dumps({"keys": [*self.keys, spare]}))
        self.put("catalog/en.lproj/Localizable.strings", f'"SENT" = "%@, edition {self.edition}";\n')
        contacts = ((f"user-{number}", f"Friend of {number}") for number in range(self.recipients))
        lines = [json.dumps({"owner": owner, "id": "c1", "name": name}) for owner, name in contacts]
        self.put("contacts.jsonl", "\n".join([*lines, json.dumps({"id": "c2", "name": f"Edition {self.edition}"})]))

    def put(self, name, text):
        """At once, as whoever reads it meanwhile should find it."""
        draft = self.folder / "draft"
        draft.write_text(text)
        os.chmod(draft, 0o600)
        os.replace(draft, self.folder / name)


def ciphertexts(program, folder):
    """A file of them, one a line."""
    keys = shutil.copy(ROOT / "deploy/sample/keys.jwks.json", folder / "producer.jwks.json")
    os.chmod(keys, 0o600)
    command = [program, "keys", "encrypt", "jwe", "--keys", keys, "--kid", "chat"]
    made = [
        subprocess.run(command, input=f"Secret {number}", stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        for number in range(SECRETS)]
    pool = folder / "ciphertexts"
    pool.write_text("".join(f"{text}\n" for text in made))
    return pool


class Flow(Process):
    """`flow.c`: events in at a rate, and what comes out of them held against them."""

    def __init__(self, broker, pool, recipients, window, log):
        program = compiled("proving/flow.c", "-lrdkafka", "-lpthread")
        words = [program, broker, pool, str(recipients), str(window)]
        super().__init__(words, log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reports = []
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def follow(self):
        for line in self.child.stdout:
            self.reports.append(json.loads(line))

    def tell(self, command):
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()

    def await_end(self):
        """Its code; all reports are there then."""
        wait("every event", lambda: self.child.poll() is not None)
        self.reader.join()
        return self.child.returncode
