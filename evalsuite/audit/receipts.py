"""Runs of others as receipts: which of them may stand on a board."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evalsuite.audit.claims import read_claims
from evalsuite.audit.verification import verify
from evalsuite.errors import EvalsuiteError
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.run.places import Place
from evalsuite.store.signing import read_public_key, why_not_signed


def only_trusted(places: Sequence[Place], gold: Path, *, key: Path | None, isolation: str) -> list[Place]:
    """The places, runs that cannot be trusted with the fault that says why; submissions as they are, for they are scored here.

    With a public key a run is trusted that its owner signed over this gold and that nobody changed since: nothing is scored again. Without
    one every row of gold must be verified, for which the submission must lie where the run says. Raises `UsageError` for what is no key.
    """
    if key is not None:
        read_public_key(key)
    found = []
    for place in places:
        why = _why_not(place.folder, gold, key, isolation) if place.is_run and not place.fault else ""
        foreign = replace(place, is_foreign=place.is_run and isolation != "none")
        found.append(replace(foreign, fault=f"not verified: {why}") if why else foreign)
    return found


def _why_not(folder: Path, gold: Path, key: Path | None, isolation: str) -> str:
    try:
        if key is None:
            verified = verify(folder, gold=gold, isolation=isolation)
            wrong = [one.name for one in verified.findings if not one.good]
            left = f"{len(verified.left_out)} rows could not be scored again" if verified.left_out else ""
            return ", ".join(wrong) or left
        findings, claims = read_claims(folder, isolation)
        if claims is None:
            return ", ".join(f"{one.name} {one.says}" for one in findings if not one.good)
        if why := why_not_signed(folder, read_public_key(key)):
            return why
        spec = find_spec(gold)
        there = gold_hash(spec.parent, spec)
    except EvalsuiteError as error:
        return error.message
    said = claims.run["gold"]["hash"]
    return "" if said == there else f"made with another gold ({said}, not {there})"
