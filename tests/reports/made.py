"""Records for the tests of reports: the example, a hidden suite full of marked gold, a hostile one, a graded one, and large ones."""

from functools import cache
from typing import Any

import evalsuite
from evalsuite.core.types import Result, Rule
from evalsuite.reports.record import Record, record_of_run
from evalsuite.runs.scoring import Run
from evalsuite.runs.summary import summarise
from tests.conftest import ROOT

HOSTILE = (
    "=1+1|<script>alert(1)</script>",
    "@everyone see https://evil.example/x and #12, ![x](http://evil.example/i.png)",
    "``` \n\n</details><img src=x onerror=alert(1)>\n\n# heading",
    "\x1b[2J\u202eevil\x00 ::error file=x::pwn ##[add-mask]a %0A::set-output name=x::y",
    '"]]><!-- & \ud800 |a|b|\\',
    "`one` ``two`` ```three```",
    "+49 170 123", "-3.5", "\t=cmd|' /C calc'!A0", "＝１",
)  # fmt: skip


@cache
def example(rules: Rule = "official") -> Run:
    """The project's example, run once for all tests."""
    return evalsuite.evaluate(ROOT / "example_submission_folder", ROOT / "gold", save=False, rules=rules, jobs=1)


def record(*results: Result, groups: dict[str, list[str]] | None = None, rules: Rule = "official", **gold: Any) -> Record:
    """A record of these results, with all that a report reads."""
    tags: dict[str, list[str]] = {}
    for tag, ids in (groups or {}).items():
        for name in ids:
            tags.setdefault(name, []).append(tag)
    summary = summarise(results, rules=rules, groups=tags)
    run = {
        "schema_version": 1,
        "signature": "evalsuite:0|rules:official|gold:0",
        "options": {"rules": rules, "only": [], "filter": None, "group": None, "limits": {}},
        "submission": {"folder": "some/sub", "n_objects": len(results)},
        "gold": {"folder": "gold", "name": "suite", "hash": "0" * 12, "n_instances": len(results), "clusters": [], "hidden": False, **gold},
        "summary": summary.to_json(),
        "groups": groups or {},
        "metadata": {},
        "notes": {},
        "warnings": [],
        "receipt": {"isolation": "process"},
        "seconds": 1.0,
    }
    return Record(name="made", run=run, results=results, summary=summary, folder=None)


def result(name: str, score: float | None = 1.0, **more: Any) -> Result:
    """A result that was scored, unless `more` says otherwise."""
    said = {"status": "scored", "official": score, "strict": score, "scorer": "string_match", "reason": "", "fault": None, **more}
    return Result(instance_id=name, score=score, **said)


def hostile() -> Record:
    """Every hostile text as an id, a reason, a flip's cause, a group, a warning and the suite's name."""
    wrong = [result(text, 0.0, reason=text) for text in HOSTILE]
    flips = [result(f"flip {text}", 1.0, strict=0.0, details={"flip": text}, reason=text, scorer=text) for text in HOSTILE]
    groups = {text: [wrong[0].instance_id, flips[at].instance_id] for at, text in enumerate(HOSTILE)}
    made = record(*wrong, *flips, groups=groups, name=HOSTILE[1])
    made.run["warnings"].extend(HOSTILE)  # type: ignore[attr-defined]
    return made


def graded() -> Record:
    """Partly right answers, and every status there is."""
    statuses = ("missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored")
    faults = ("MISSING_INSTANCE", "BAD_CSV", "BAD_SPEC", "SCORER_ERROR", "TIMEOUT", "WORKER_DIED", "NO_VERDICT")
    unjudged = {"gold_fault", "scorer_fault", "unscored"}
    rest = [
        result(f"s_{status}", None if status in unjudged else 0.0, status=status, fault=fault, reason=f"said of {status}")
        for status, fault in zip(statuses, faults, strict=True)
    ]
    return record(result("right"), result("half", 0.5, reason="half of it"), result("wrong", 0.0, reason="no"), *rest)


def large(n: int) -> Record:
    """n wrong answers in ten groups."""
    results = [result(f"instance_{at:06}", 0.0, reason=f"reason {at} é " * 20, strict=float(at % 2)) for at in range(n)]
    groups = {f"group_{tag}": [r.instance_id for r in results[tag::10]] for tag in range(10)}
    return record(*results, groups=groups)


def example_record(rules: Rule = "official") -> Record:
    """The record of the example."""
    return record_of_run(example(rules))
