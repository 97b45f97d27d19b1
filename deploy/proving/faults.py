"""The faults of a scene. Each one undoes its effect, so that faults do not overlap."""
import collections, os, shutil, signal, subprocess, time

Fault = collections.namedtuple("Fault", "at kind number length strength")
KINDS = ["kill", "end", "freeze", "outage", "reload", "latency", "partition", "clock"]
# In addition, for static members.
STATIC = ["leave", "replace", "guest", "roll"] + [f"{kind}, as one comes" for kind in ("kill", "end", "freeze")] * 2
HOUR = 3600


def schedule(scene, seconds, chance):
    """Plans all faults before anything runs. Each fault interprets the strength, below 1, in its own way."""
    kinds = KINDS + (["full_disk"] if scene.is_alone and scene.badge else []) + (STATIC if scene.is_static else [])
    at, faults = 2.0, []
    while at < seconds:
        kind, number = chance.choice(kinds), chance.randrange(len(scene.instances))
        length = chance.uniform(0.5, 4)
        # Sometimes longer than the session, so that other instances take over its partitions.
        is_long = chance.random() < (0.4 if kind in ("freeze", "partition") else 0.1) or kind in ("leave", "replace")
        length += scene.session if len(scene.instances) > 1 and is_long else 0
        faults.append(Fault(at, kind, number, length, chance.random()))
        at += length + chance.uniform(0.3, 2) + (10 if kind in STATIC else 0)
    return faults


def inject(scene, fault):
    """Applies the fault; returns the reason if it cannot."""
    if fault.kind == "full_disk" and not os.path.ismount(scene.disk):
        return "skipped, because mounting is not allowed"
    kind, is_beside, _ = fault.kind.partition(", as one comes")
    instance, fault = scene.instances[fault.number], fault._replace(kind=kind)
    (as_one_comes if is_beside else globals()[kind])(scene, instance, fault)


def kill(scene, instance, fault):
    instance.kill()
    scene.rest(fault.length / 3)
    instance.start()


def end(scene, instance, fault):
    instance.end_soon()
    scene.await_end(instance)
    scene.rest(fault.length / 3)
    instance.start()


def leave(scene, instance, fault):
    """Stays away until others have its partitions."""
    instance.end_soon()
    scene.await_end(instance)
    scene.rest(fault.length)
    instance.start()


def replace(scene, instance, fault):
    """Killed, and restarted on another machine after others have its partitions."""
    instance.kill()
    scene.rest(fault.length)
    shutil.rmtree(scene.folder / f"state{instance.number}", ignore_errors=True)
    instance.start()


def guest(scene, instance, fault):
    """The group grows by one and shrinks again."""
    coming = scene.welcome()
    scene.rest(fault.length * 3)
    scene.dismiss(coming)


def roll(scene, instance, fault):
    """Restarts all instances in turn, while there is one more."""
    coming = scene.welcome()
    for number in range(len(scene.surroundings)):
        scene.rest(fault.length)
        end(scene, scene.instances[number], fault)
    scene.dismiss(coming)


def as_one_comes(scene, instance, fault):
    """Strikes while another instance joins, or when this one is about to release partitions."""
    coming = scene.welcome()
    if fault.strength < 0.5:
        scene.rest(fault.strength * 10)
    else:
        size, until = instance.log.stat().st_size, time.monotonic() + 8
        while not has_revoked(instance, size) and time.monotonic() < until:
            scene.rest(0.01)
        scene.rest(fault.strength / 10 - 0.05)
    globals()[fault.kind](scene, instance, fault)
    scene.rest(5 + fault.length)
    scene.dismiss(coming)


def has_revoked(instance, size):
    with open(instance.log) as log:
        log.seek(size)
        return "partitions revoked" in log.read()


def freeze(scene, instance, fault):
    pause(scene, instance, fault.length)


def outage(scene, instance, fault):
    pause(scene, scene.broker, fault.length)


def reload(scene, instance, fault):
    instance.send(signal.SIGHUP)
    scene.rest(fault.length / 10)


def latency(scene, instance, fault):
    """Up to a quarter of a second in each direction."""
    ways = scene.surroundings[instance.number].ways.values()
    for way in ways:
        way.delay = fault.strength / 4
    scene.rest(fault.length)
    for way in ways:
        way.delay = 0


def partition(scene, instance, fault):
    """The instance cannot reach one of the brokers; all others can."""
    ways = list(scene.surroundings[instance.number].ways.values())
    way = ways[int(fault.strength * len(ways))]
    way.is_cut = True
    scene.rest(fault.length)
    way.is_cut = False


def clock(scene, instance, fault):
    """Up to eight hours ahead or behind, and back."""
    surroundings = scene.surroundings[instance.number]
    surroundings.set_clock((fault.strength - 0.5) * 16 * HOUR)
    scene.rest(fault.length)
    surroundings.set_clock(0)


def full_disk(scene, instance, fault):
    ballast = scene.disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            pass
    scene.rest(fault.length)
    ballast.unlink()


def pause(scene, process, length):
    process.send(signal.SIGSTOP)
    scene.rest(length)
    process.send(signal.SIGCONT)


def mount(folder):
    """Mounts a small disk, if that is allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
    if os.geteuid() == 0:
        subprocess.run(command, stderr=subprocess.DEVNULL)
