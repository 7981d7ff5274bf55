"""`samples_*.jsonl` of lm-eval: a run for each filter, the first of its metrics as the verdict."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import UsageError
from evalsuite.suites.logged_runs import ForeignLog, Logged, LoggedRun, text_or_json

_STAMP: Final = re.compile(r"_\d{4}-\d{2}-\d{2}T.*$")
# What a line holds that is no metric.
_NO_METRIC: Final = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"})


def read_samples(path: Path, text: str) -> ForeignLog:
    """The samples of one task. Raises `UsageError` for a file that is cut or holds none."""
    runs: dict[str, list[Logged]] = {}
    lost: list[str] = []
    lines = text.split("\n")
    task = _STAMP.sub("", path.stem.removeprefix("samples_"))
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            entry, name = _logged(row), str(row.get("filter") or "none")
        except (ValueError, RecursionError):
            if number == len(lines):
                raise UsageError(f"{path}:{number}: the last line is cut", hint="copy the file again") from None
            lost.append(f"line {number}")
            continue
        except (AttributeError, KeyError, TypeError, IndexError):
            lost.append(f"line {number}")
            continue
        runs.setdefault(name, []).append(entry)
    if not runs:
        raise UsageError(f"{path}: no sample of lm-eval in it", hint="samples_TASK_TIME.jsonl, as its samples are logged")
    return ForeignLog.of("lm-eval", task, [LoggedRun(f"{task}-{name}", tuple(found)) for name, found in runs.items()], lost, path)


def _logged(row: Mapping[str, Any]) -> Logged:
    calls = [list(call.values()) if isinstance(call, Mapping) else list(call) for call in _calls_of_sample(row["arguments"])]
    given = row["filtered_resps"] if "filtered_resps" in row else row["resps"]
    options = [str(call[1]) for call in calls if len(call) > 1 and isinstance(call[1], str)]
    target = row.get("target")
    # Of a choice between continuations the answer is the likeliest of them.
    if options and len(options) == len(given) > 1:
        chances = [float(one[0] if isinstance(one, list) else one) for one in given]
        output = options[chances.index(max(chances))].strip()
        if str(target).isdecimal() and int(str(target)) < len(options):
            target = options[int(str(target))].strip()
    else:
        output = given[0] if isinstance(given, list) and given else given
        while isinstance(output, list) and output:
            output = output[0]
    doc = str(row["doc_id"])
    return Logged(
        key=doc,
        source_id=doc,
        input=text_or_json(calls[0][0]),
        reference=None if target is None else text_or_json(target),
        output=text_or_json(output),
        theirs=_first_metric(row),
    )


def _calls_of_sample(arguments: Any) -> Sequence[Any]:
    """The calls of a sample: newer files name them (`gen_args_0`), older ones list them."""
    return list(arguments.values()) if isinstance(arguments, Mapping) else list(arguments)


def _first_metric(row: Mapping[str, Any]) -> float | None:
    """The first metric of the line, None where it is no number in [0, 1]."""
    named = row.get("metrics") if isinstance(row.get("metrics"), list) else None
    names = named or [key for key, value in row.items() if key not in _NO_METRIC and isinstance(value, bool | int | float)]
    value = next((row[name] for name in names if isinstance(row.get(name), bool | int | float)), None)
    return float(value) if value is not None and 0 <= value <= 1 else None
