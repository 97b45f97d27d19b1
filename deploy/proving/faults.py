"""What befalls a scene. Each fault ends what it began, so that they come one after the other."""
import collections, os, signal, subprocess

Fault = collections.namedtuple("Fault", "at kind number length strength")
KINDS = ["kill", "end", "freeze", "outage", "reload", "latency", "partition", "clock"]
HOUR = 3600


def schedule(scene, seconds, chance):
    """What comes when, decided before anything runs. The strength, below 1, is each fault's own matter."""
    kinds = KINDS + (["full_disk"] if scene.is_alone and scene.badge else [])
    at, faults = 2.0, []
    while at < seconds:
        kind, number = chance.choice(kinds), chance.randrange(len(scene.instances))
        length = chance.uniform(0.5, 4)
        # Now and then longer than the session: the others go on with what it holds.
        is_long = chance.random() < (0.4 if kind in ("freeze", "partition") else 0.1)
        length += 6 if len(scene.instances) > 1 and is_long else 0
        faults.append(Fault(at, kind, number, length, chance.random()))
        at += length + chance.uniform(0.3, 2)
    return faults


def befall(scene, fault):
    """Lets it happen; gives why not, where it cannot."""
    if fault.kind == "full_disk" and not os.path.ismount(scene.disk):
        return "skipped, for mounting is not allowed"
    globals()[fault.kind](scene, scene.instances[fault.number], fault)


def kill(scene, instance, fault):
    instance.kill()
    scene.rest(fault.length / 3)
    instance.start()


def end(scene, instance, fault):
    instance.end_soon()
    scene.await_end(instance)
    scene.rest(fault.length / 3)
    instance.start()


def freeze(scene, instance, fault):
    pause(scene, instance, fault.length)


def outage(scene, instance, fault):
    pause(scene, scene.broker, fault.length)


def reload(scene, instance, fault):
    instance.send(signal.SIGHUP)
    scene.rest(fault.length / 10)


def latency(scene, instance, fault):
    """Up to a quarter of a second each way."""
    ways = scene.surroundings[instance.number].ways.values()
    for way in ways:
        way.delay = fault.strength / 4
    scene.rest(fault.length)
    for way in ways:
        way.delay = 0


def partition(scene, instance, fault):
    """The instance does not reach one of the brokers, which all others do."""
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
    """A disk that is soon full, where that is allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
    if os.geteuid() == 0:
        subprocess.run(command, stderr=subprocess.DEVNULL)
