"""The events of a soak, and the files that the service reloads meanwhile, in many editions."""
import json, os, shutil, subprocess, threading

from processes import ROOT, Process, compiled, wait

SECRETS = 64


class Files:
    """Keys, a catalog and contacts in a folder, to be read and rewritten."""

    def __init__(self, folder, recipients):
        self.folder, self.recipients, self.edition = folder, recipients, 0
        self.keys = json.loads((ROOT / "deploy/sample/keys.jwks.json").read_text())["keys"]
        (folder / "catalog/en.lproj").mkdir(parents=True)
        self.write()

    def write(self):
        """Titles name the edition; names and the keys in use stay the same."""
        self.edition += 1
        spare = {"kty": "oct", "kid": f"spare-{self.edition}", "alg": "dir", "k": "A" * 43}
        self.put("keys.jwks.json", json.dumps({"keys": [*self.keys, spare]}))
        self.put("catalog/en.lproj/Localizable.strings", f'"SENT" = "%@, edition {self.edition}";\n')
        contacts = ((f"user-{number}", f"Friend of {number}") for number in range(self.recipients))
        lines = [json.dumps({"owner": owner, "id": "c1", "name": name}) for owner, name in contacts]
        self.put("contacts.jsonl", "\n".join([*lines, json.dumps({"id": "c2", "name": f"Edition {self.edition}"})]))

    def put(self, name, text):
        """Replaces the file atomically, because it may be read at any time."""
        draft = self.folder / "draft"
        draft.write_text(text)
        os.chmod(draft, 0o600)
        os.replace(draft, self.folder / name)


def ciphertexts(program, folder):
    """Returns a file of ciphertexts, one per line."""
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
    """`flow.c`: sends events at a rate and compares the outputs with them."""

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
        """Returns the exit code; all reports are complete then."""
        wait("every event", lambda: self.child.poll() is not None)
        self.reader.join()
        return self.child.returncode
