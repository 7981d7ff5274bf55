"""The receipt that a site gives for a submission, held against what a team has at hand: its submission, the board's public key, gold."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evalsuite.audit.claims import VERSIONS, Finding
from evalsuite.audit.replay import chosen_in
from evalsuite.audit.verification import Verified
from evalsuite.errors import UsageError
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.limits import CLOCK, clock_of, resolve_limits
from evalsuite.readers.submission_files import submission_hash
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.scoring import Options, Progress, Run, run
from evalsuite.store.run_files import read_json
from evalsuite.store.signing import read_public_key, why_not_sealed
from evalsuite.walls.scratch import ScratchFolder

_TEXTS: Final = ("submission", "submission_hash", "signature", "root", "seal")
_WITHOUT: Final = {"submission": "name what was handed in: --submission DIR", "gold": "nothing can be scored without gold: --gold DIR"}


def verify_receipt(
    file: Path, *, submission: Path | None, gold: Path | None, key: Path | None, options: Options, progress: Progress | None = None
) -> Verified:
    """What is known of a receipt: who signed it, whose bytes it is about, and whether gold gives them the same root and score today.

    Nothing of the receipt is believed: what no folder and no key can show stands as claimed. Raises `UsageError` for a file of another
    form, and what reading and scoring both folders raises.
    """
    said = _read(file)
    findings = []
    if key is not None:
        why = why_not_sealed(said.get("signed"), str(said["seal"]), read_public_key(key))
        findings.append(Finding(name="signature", good=not why, says=why or f"the seal was made with the key of {key}"))
    shown = {"seal"} if findings else set[str]()
    verified = Verified(name=file.name, findings=tuple(findings), n_gold=int(said["n_instances"]))
    if submission is None or gold is None:
        left = {"rows": next(hint for side, hint in _WITHOUT.items() if {"submission": submission, "gold": gold}[side] is None)}
        if submission is not None:
            now = submission_hash(read_handed_in(submission, None, resolve_limits(), isolation=options.isolation))
            findings.append(_is_submission(said, now, submission))
            shown.add("submission_hash")
        return replace(verified, findings=tuple(findings), left_out=left, claimed=tuple(_claims(said, shown)))
    with ScratchFolder() as scratch:
        again = run(submission, gold, _asked(said, gold, replace(options, out=scratch / "run")), progress=progress)
    findings.append(_is_submission(said, again.submission_hash or "", submission))
    left_out = {}
    then, now_ = (dict(part.partition(":")[::2] for part in line.split("|")) for line in (str(said["signature"]), again.signature))
    moved = [
        f"{name} {then.get(name, 'none')} then, {now_.get(name, 'none')} now"
        for name in {**then, **now_}
        if then.get(name) != now_.get(name)
    ]
    others = [text for text in moved if text.partition(" ")[0] not in VERSIONS]
    findings.append(
        Finding(
            name="scored under", good=not others, says="the same gold and rules" if not others else "something else", differs=tuple(others)
        )
    )
    if again.summary.n_gold != said["n_instances"]:
        left_out["rows"] = f"the receipt is about {said['n_instances']} of {again.summary.n_gold} instances: a part of gold was hidden then"
    elif findings[-1].good and findings[-2].good:
        if moved and again.root != said["root"]:
            left_out["rows"] = f"they were scored by other versions: {', '.join(moved)}"
        else:
            findings.append(_is_same(said, again))
            verified = replace(verified, n_verified=again.summary.n_gold if findings[-1].good else 0)
            shown |= {"root", "score"}
    claimed = tuple(_claims(said, shown | {"submission_hash", "signature"}))
    return replace(verified, findings=tuple(findings), left_out=left_out, claimed=claimed)


def _read(file: Path) -> Mapping[str, Any]:
    said = read_json(file)
    if isinstance(said, dict) and all(isinstance(said.get(name), str) for name in _TEXTS) and isinstance(said.get("n_instances"), int):
        return said
    raise UsageError(f"{file} is no receipt", hint="a receipt is the .json beside a page of `leaderboard --site`; of a run name its folder")


def _asked(said: Mapping[str, Any], gold: Path, options: Options) -> Options:
    """The options of a run such as the receipt is about, as far as its signature says them."""
    parts = dict(part.partition(":")[::2] for part in str(said["signature"]).split("|"))
    limits = {CLOCK: clock_of(parts["clock"])} if parts.get("clock") else {}
    return replace(
        options, rules=chosen_in(said, read_gold(gold)), limits=limits, invalid_as="zero" if parts.get("invalid") == "zero" else None
    )


def _is_submission(said: Mapping[str, Any], now: str, place: Path) -> Finding:
    good = now == said["submission_hash"]
    return Finding(
        name="submission", good=good, says=f"{place} is what was handed in" if good else f"{place} is not what was handed in ({now})"
    )


def _is_same(said: Mapping[str, Any], again: Run) -> Finding:
    differs = [
        f"{name}: {then} then, {now} now"
        for name, then, now in (("root", said["root"], again.root), ("score", said.get("score"), again.summary.score))
        if then != now
    ]
    says = "gives the same verdict for every instance, and the same score" if not differs else "gives something else"
    return Finding(name="scored again", good=not differs, says=says, differs=tuple(differs))


def _claims(said: Mapping[str, Any], shown: set[str]) -> Iterator[tuple[str, str]]:
    for name in (*_TEXTS, "score", "received"):
        if name not in shown and said.get(name) is not None:
            yield name, str(said[name])
