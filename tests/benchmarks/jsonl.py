"""A million lines of results_metadata.jsonl, read and validated, in units of `json.loads` over the lines."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import python, side_by_side

N_LINES = 1_000_000
BARE = "from evalsuite.gold.layouts import read_submission\n"
LOADS = BARE + "import json\nwith open({file!r}) as lines:\n    for line in lines:\n        json.loads(line)"
PEAK = "int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]) / 1024"
READ = BARE + "from pathlib import Path\nassert len(read_submission(Path({folder!r})).answers) == {n}"


def write(folder: Path, said: str) -> Path:
    """A submission of a million texts; an id twice and a key twice stand in it."""
    folder.mkdir()
    keys = ("instance_id", "answer_type", "answer_or_path")
    with (folder / "results_metadata.jsonl").open("w") as file:
        for at in range(N_LINES):
            file.write(json.dumps(dict(zip(keys, (f"inst_{at % (N_LINES - 1):07}", "answer", said.format(at)), strict=True))) + "\n")
        file.write('{"instance_id": "last", "instance_id": "last", "answer_type": "answer", "answer_or_path": "x"}\n')
    return folder


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios of CPU (bound 1), MiB above the import (bound 130), and all medians; once with plain texts and once with escapes."""
    found: dict[str, Any] = {}
    for name, said in (("plain", "The answer is {} or so"), ("escapes", 'The "answer" is \n é {}')):
        folder = write(scratch / name, said)
        file = str(folder / "results_metadata.jsonl")
        # Both the id and the broken line keep one answer each.
        read = READ.format(folder=str(folder), n=N_LINES)
        costs = side_by_side({"import": python(BARE), "json.loads": python(LOADS.format(file=file)), "read": python(read)}, n=n)
        bare = costs["import"]
        ratio = (costs["read"].cpu_seconds - bare.cpu_seconds) / (costs["json.loads"].cpu_seconds - bare.cpu_seconds)
        # Asked of the process itself: what `wait4` tells begins with the memory of whoever started it.
        mib = float(
            subprocess.run(python(f"{BARE}before = {PEAK}\n{read}\nprint({PEAK} - before)"), stdout=subprocess.PIPE, check=True).stdout
        )
        found[name] = {"ratio": round(ratio, 2), "mib_above_import": round(mib), "medians": {k: asdict(v) for k, v in costs.items()}}
    return found
