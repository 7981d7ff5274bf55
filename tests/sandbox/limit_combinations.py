"""`python -m tests.sandbox.limit_combinations FOLDER SUBMISSION GOLD SEED N`: answers on N machines that each lack something, at random.

A machine has limits of a process (address space, data, open files, size of a file, CPU seconds, processes), those of a control group
(memory, CPU quota, processes), a small disk for the run and for temporary files, no /dev/shm, no /proc, or a user without rights; most of
it needs root, the rest is drawn without. Prints what was drawn and came out as one JSON object for each machine.
"""

import json
import os
import random
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.processes import finished

MIB = 1 << 20
GROUPS = Path("/sys/fs/cgroup")
LIMITS: dict[str, tuple[int, ...]] = {
    "AS": tuple(n * MIB for n in (600, 2048, 2049, 2100, 2500, 3000, 6000)),
    "DATA": tuple(n * MIB for n in (1000, 2048, 2100, 4000)),
    "NOFILE": (64, 70, 80, 100, 130, 200),
    "FSIZE": (60_000, 90_000, 3 * MIB, 30 * MIB, 300 * MIB),
    "CPU": (8, 11, 12, 60),
    "NPROC": (4, 5, 6, 8, 10, 30),
    "STACK": tuple(n << 10 for n in (96, 256, 1024, 2048, 4096)),
}
CONTROLS: dict[str, tuple[int, ...]] = {
    "memory/memory.limit_in_bytes": tuple(n * MIB for n in (250, 330, 400, 500, 1000)),
    "cpu/cpu.cfs_quota_us": (10_000, 30_000, 70_000),
    "pids/pids.max": (5, 6, 7, 9, 20),
}
NOBODY = 65534
START = """
import os, resource, sys
limits, user = eval(sys.argv[1]), int(sys.argv[2])
for name, most in limits.items():
    kind = getattr(resource, "RLIMIT_" + name)
    if name != "NPROC":
        resource.setrlimit(kind, (most, most))
if user:
    os.setgroups([])
    os.setgid(user)
    if "NPROC" in limits:
        resource.setrlimit(resource.RLIMIT_NPROC, (limits["NPROC"],) * 2)
    os.setuid(user)
sys.path.insert(0, os.getcwd())
from evalsuite.cli import main
sys.exit(main(sys.argv[3:]))
"""


def drawn(chance: random.Random) -> dict[str, Any]:
    """What one machine lacks: a part of what this one can take away."""
    is_root = os.geteuid() == 0
    limits = {name: chance.choice(LIMITS[name]) for name in chance.sample(sorted(LIMITS), chance.choice((0, 0, 1, 1, 2, 3)))}
    controls = [name for name in CONTROLS if is_root and os.access(GROUPS / name.partition("/")[0] / "cgroup.procs", os.W_OK)]
    groups = {name: chance.choice(CONTROLS[name]) for name in controls if chance.random() < 0.25}
    return {
        "limits": limits,
        "groups": groups,
        "disk": chance.choice((0, 0, 60, 90, 100, 120, 400, 4000)) if is_root else 0,
        "absent": [place for place, part in (("/dev/shm", 0.3), ("/proc", 0.06)) if is_root and chance.random() < part],
        "user": NOBODY if is_root and chance.random() < 0.3 else 0,
        "jobs": chance.choice((1, 2, 8)),
    }


def outcome(machine: dict[str, Any], folder: Path, sides: Sequence[str]) -> dict[str, Any]:
    """Exit code, last words on stderr, and the rows that the run saved, also in a journal."""
    folder.mkdir(mode=0o777)
    disk, saved = folder / "disk", folder / "saved"
    inside = shlex.quote(str(disk))
    disk.mkdir()
    words = ["run", sides[0], "--gold", sides[1], "--out", disk / "run", "--quiet", "--no-cache", "--jobs", machine["jobs"]]
    start = [sys.executable, "-c", START, repr(machine["limits"]), machine["user"], *words]
    lines = [f"mount -t tmpfs -o size={machine['disk']}k none {inside}"] if machine["disk"] else []
    lines += [f"chmod 777 {inside}", "mkdir -p /var/tmp", f"export TMPDIR={inside} HOME={inside}"]
    if machine["user"]:
        # The interpreter may be in a home that is closed to others.
        home = Path(sys.base_prefix).parts[1]
        lines += [f"chmod o+x /{home}"] if home != "root" else [_open_home(folder)]
    lines += [f"mount -t tmpfs -o size=0,mode=000 none {place}" for place in machine["absent"] if place != "/proc"]
    lines += ["mount -t tmpfs -o ro none /proc"] if "/proc" in machine["absent"] else []
    lines += [
        f"{shlex.join(map(str, start))}; code=$?",
        f"cat {inside}/run/results.jsonl > {shlex.quote(str(saved))} 2>/dev/null; exit $code",
    ]
    script = "\n".join(lines)
    command = ["unshare", "--mount", "sh", "-c", script] if os.geteuid() == 0 else ["sh", "-c", script]
    with _in_groups(machine["groups"]) as groups:
        done = finished(command, cwd=ROOT, seconds=600, preexec_fn=groups)
    rows = saved.read_text().splitlines() if saved.exists() else []
    whole = [json.loads(line) for line in rows if line.endswith("}")]
    return {"code": done.returncode, "complaint": done.stderr[-600:], "rows": whole}


def _open_home(folder: Path) -> str:
    """Return shell lines that show only the interpreter below /root, to everybody, in the mounts of this machine."""
    place, apart = Path(sys.base_prefix), folder / "python"
    steps = ["mkdir {1}", "mount --bind {0} {1}", "mount -t tmpfs -o mode=755 none /root", "mkdir -p {0}", "mount --bind {1} {0}"]
    return "; ".join(steps).format(*(shlex.quote(str(one)) for one in (place, apart)))


@contextmanager
def _in_groups(groups: dict[str, int]) -> Iterator[Callable[[], None]]:
    """The control groups of one machine: a function that puts a process into them."""
    places = {name: GROUPS / name.partition("/")[0] / f"evalsuite-test-{os.getpid()}" for name in groups}
    for name, place in places.items():
        place.mkdir(exist_ok=True)
        (place / name.partition("/")[2]).write_text(str(groups[name]))

    def enter() -> None:
        for place in places.values():
            (place / "cgroup.procs").write_text(str(os.getpid()))

    yield enter
    for place in places.values():
        place.rmdir()


def moved(rows: list[dict[str, Any]], alone: dict[str, tuple[Any, Any]]) -> Iterator[str]:
    """Yield the verdicts that differ from those on a machine with everything; no verdict is no difference if the row is unscored."""
    for row in rows:
        for rule, right in zip(("official", "strict"), alone[row["instance_id"]], strict=True):
            if row[rule] != right and not (row[rule] is None and row["status"] == "unscored"):
                yield f"{row['instance_id']} {rule}: {right} became {row[rule]} ({row['status']} {row['fault']}: {row['reason'][:120]})"


def main(base: Path, *sides: str, seed: int, n: int) -> None:
    """Print the outcome of n machines."""
    base.chmod(0o777)
    everything = {"limits": {}, "groups": {}, "disk": 0, "absent": [], "user": 0, "jobs": 2}
    alone = {row["instance_id"]: (row["official"], row["strict"]) for row in outcome(everything, base / "alone", sides)["rows"]}
    assert alone
    for at in range(seed, seed + n):
        machine = drawn(random.Random(at))
        found = outcome(machine, base / str(at), sides)
        rows = found.pop("rows")
        print(json.dumps({"seed": at, **machine, **found, "n_rows": len(rows), "moved": list(moved(rows, alone))}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:4], seed=int(sys.argv[4]), n=int(sys.argv[5]))
