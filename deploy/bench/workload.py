"""What the benchmarks share: the workload's files, an interpreter with its packages, and the release build."""
import pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / ".build/bench"
DATA = WORK / "data"
PROGRAM = ROOT / ".build/release/pushmill"


def add_folder(parser):
    parser.add_argument(
        "--bench", type=pathlib.Path, default=ROOT.parent / "shared/bench", help="folder of the workload and the C loop")


def prepare(bench):
    """Builds the release, installs packages and generates the workload, each once; returns the interpreter."""
    if not (bench / "run_w1.py").exists():
        sys.exit(f"no workload in {bench}: name its folder with --bench")
    WORK.mkdir(parents=True, exist_ok=True)
    subprocess.run(["swift", "build", "-c", "release", "--product", "pushmill"], cwd=ROOT, check=True)
    interpreter = WORK / "venv/bin/python"
    if not interpreter.exists():
        subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
    packages = ["cryptography", "confluent-kafka", "orjson"]
    pip = [interpreter, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run(pip + packages, check=True)
    if not (DATA / "expected.bin").exists():
        subprocess.run([interpreter, bench / "w1_generate.py", DATA], check=True)
    return interpreter


def faults(rows):
    """Yields what makes a run's figures worthless: wrong records or a failure at the end."""
    counts = ("lost", "dup", "unknown", "bad_key", "bad_headers", "bad_json", "bad_badge", "out_of_order", "rc")
    for row in rows:
        wrong = {name: row[name] for name in counts if row.get(name)}
        if wrong or row["verified"] != row["of"]:
            yield f"{row['peer']}: {row['verified']} of {row['of']} verified, {wrong}"
