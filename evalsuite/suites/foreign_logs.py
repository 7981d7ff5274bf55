"""Logs that other tools wrote, read into one form: results of promptfoo, logs of Inspect, samples of lm-eval; their verdicts as they stand.

A broken sample costs itself alone and is named; a file that is cut, or none of these, is refused.
"""

import contextlib
import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import UsageError
from evalsuite.suites.lm_eval_samples import read_samples
from evalsuite.suites.logged_runs import ForeignLog, Logged, LoggedRun, text_or_json

_KNOWN: Final = "known: results of promptfoo (.json), logs of Inspect (.eval, .json), samples_*.jsonl of lm-eval"
# Inspect's own letters: correct, partial, incorrect, no answer.
_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
# The assertions of promptfoo whose value is what is right.
_COMPARES: Final = frozenset({"equals", "contains", "icontains"})
_ZSTD: Final = "`inspect log convert LOG.eval --to json --output-dir DIR` writes it as JSON, which is read; Python 3.14 reads it as it is"


def read_log(path: Path) -> ForeignLog:
    """The log in a file, told by what is in it, with the digest of its bytes. Raises `UsageError` that names it."""
    try:
        if not path.is_file():
            raise UsageError(f"{path}: {'a folder' if path.is_dir() else 'no such file'}", hint=_KNOWN)
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        return replace(_log_in(path), digest=digest, file=path.stem)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint=_KNOWN) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be read'}", hint=_KNOWN) from None


def _log_in(path: Path) -> ForeignLog:
    if zipfile.is_zipfile(path):
        return _inspect_archive(path)
    if path.suffix == ".eval":
        raise UsageError(f"{path}: not a whole Inspect log: it is cut, or no archive", hint="copy it again")
    text = path.read_text(encoding="utf-8-sig")
    return read_samples(path, text) if path.suffix == ".jsonl" else _log_of_json(path, text)


def _log_of_json(path: Path, text: str) -> ForeignLog:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not valid JSON: cut, or no log", hint=_KNOWN) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=_KNOWN) from None
    if isinstance(value, dict) and isinstance(value.get("eval"), dict) and isinstance(value.get("samples"), list):
        return _inspect_log(path, value["eval"], enumerate(value["samples"], start=1), ())
    results = value.get("results") if isinstance(value, dict) else None
    rows = results.get("results") if isinstance(results, dict) else results
    if isinstance(rows, list) and rows and all(isinstance(row, dict) and {"provider", "prompt"} <= row.keys() for row in rows):
        return _promptfoo(path, value, rows)
    raise UsageError(f"{path}: no log of a tool that is known", hint=_KNOWN)


def _promptfoo(path: Path, value: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ForeignLog:
    """A run for each provider, by its label, and a case for each test, whose index is its `source_id`; of several prompts for each of them.

    promptfoo counts prompts provider by provider: the same prompt has another `promptIdx` under each of them.
    """
    prompts = _prompts_of(rows)
    several = any(len(own) > 1 for own in prompts.values())
    numbers = {prompt: at for at, prompt in enumerate(dict.fromkeys(prompt for own in prompts.values() for prompt in own.values()))}
    runs: dict[str, list[Logged]] = {}
    times: Counter[tuple[str, str]] = Counter()
    tests: dict[str, int] = {}
    lost = []
    for at, row in enumerate(rows):
        try:
            label = _provider_of(row)
            test, prompt = row.get("testIdx", _number_of(row, at, tests)), row["prompt"]
            response = row.get("response") or {}
            raw = prompt["raw"] if isinstance(prompt, Mapping) else prompt
            key = f"{test}.{numbers[prompts[label][row.get('promptIdx', 0)]]}" if several else str(test)
            times[label, key] += 1
            entry = Logged(
                key=key if times[label, key] == 1 else f"{key}.repeat{times[label, key]}",
                source_id=str(test),
                input=text_or_json(raw),
                reference=_promptfoo_reference(row),
                output=text_or_json(response.get("output", "") if isinstance(response, Mapping) else response),
                theirs=_promptfoo_verdict(row),
            )
        except (AttributeError, KeyError, TypeError):
            lost.append(f"result {at + 1}")
            continue
        runs.setdefault(label, []).append(entry)
    config = value.get("config")
    name = str(config.get("description") or "") if isinstance(config, Mapping) else ""
    return ForeignLog.of("promptfoo", name or path.stem, [LoggedRun(label, tuple(found)) for label, found in runs.items()], lost, path)


def _number_of(row: Mapping[str, Any], at: int, tests: dict[str, int]) -> int:
    """The test's number in a log that counts none: its variables tell it from the others, without any each row is one."""
    variables = row.get("vars")
    return tests.setdefault(json.dumps(variables or at, sort_keys=True), len(tests))


def _provider_of(row: Mapping[str, Any]) -> str:
    provider = row["provider"]
    return str(provider.get("label") or provider["id"]) if isinstance(provider, Mapping) else str(provider)


def _prompts_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[Any, str]]:
    """For each provider its prompts by `promptIdx`: named by what promptfoo calls them, else counted."""
    found: dict[str, dict[Any, str]] = {}
    for row in rows:
        # Of a row that cannot be read it is told elsewhere.
        with contextlib.suppress(KeyError, TypeError):
            own, prompt = found.setdefault(_provider_of(row), {}), row["prompt"]
            label = prompt.get("label") if isinstance(prompt, Mapping) else None
            # A label may be the prompt as it was filled in, which is another for each test.
            named = row.get("promptId") or (label if isinstance(prompt, Mapping) and label != prompt.get("raw") else None)
            own.setdefault(row.get("promptIdx", 0), str(named or len(own)))
    return found


def _promptfoo_verdict(row: Mapping[str, Any]) -> float | None:
    """The score, cut to [0, 1]; None where the provider failed, which is nobody's answer."""
    if row.get("failureReason") == 2 or (row.get("error") and not row.get("response")):
        return None
    score = row.get("score")
    if isinstance(score, int | float) and math.isfinite(score):
        return min(1.0, max(0.0, float(score)))
    return float(bool(row["success"]))


def _promptfoo_reference(row: Mapping[str, Any]) -> str | None:
    """The variable that an assertion names (`{{reference}}`), else a variable of that name, else the text that one compares with."""
    case = row.get("testCase") or {}
    variables = {**(case.get("vars") or {}), **(row.get("vars") or {})}
    asserted = [one for one in case.get("assert") or () if isinstance(one, Mapping) and isinstance(one.get("value"), str)]
    values = [str(one["value"]) for one in asserted]
    named = next((name for value in values for name in variables if f"{{{{{name}}}}}" in value.replace(" ", "")), None)
    found = variables.get(named) if named is not None else variables.get("reference")
    if found is None:
        found = next((value for one, value in zip(asserted, values, strict=True) if one.get("type") in _COMPARES), None)
    return None if found is None else text_or_json(found)


def _inspect_archive(path: Path) -> ForeignLog:
    """A `.eval` file: an archive with a header and a file for each sample."""
    lost: list[str] = []

    def samples(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        for name in names:
            try:
                yield name, json.loads(archive.read(name))
            except (ValueError, zipfile.BadZipFile, EOFError, RecursionError):
                lost.append(name)

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if head is None:
                raise UsageError(f"{path}: an archive, but no Inspect log", hint=_KNOWN)
            about = json.loads(archive.read(head))
            own = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            return _inspect_log(path, about["eval"], samples(archive, own), lost)
    except NotImplementedError:
        raise UsageError(f"{path}: compressed in a way that this Python cannot read", hint=_ZSTD) from None
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError):
        raise UsageError(f"{path}: not a whole Inspect log", hint="copy it again") from None


def _inspect_log(path: Path, about: Mapping[str, Any], samples: Any, lost: Sequence[str]) -> ForeignLog:
    """One run: the first scorer's verdict on each sample, an epoch after the first being a case of its own."""
    found, gone = [], []
    for where, sample in samples:
        try:
            kept = sample.get("attachments") or {}
            scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
            epoch = int(sample.get("epoch") or 1)
            found.append(
                Logged(
                    key=str(sample["id"]) if epoch == 1 else f"{sample['id']}.epoch{epoch}",
                    source_id=str(sample["id"]),
                    input=_text_of_content(sample["input"], kept),
                    reference=" | ".join(map(str, target)) if isinstance(target := sample.get("target"), list) else target,
                    output=_completion(sample.get("output") or {}, kept),
                    theirs=_inspect_value(next(iter(scores.values()))["value"]) if scores else None,
                )
            )
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            gone.append(f"sample {where}")
    label = f"{path.stem} ({about['model']})" if about.get("model") else path.stem
    return ForeignLog.of("inspect", str(about.get("task") or path.stem), [LoggedRun(label, tuple(found))], [*lost, *gone], path)


def _inspect_value(value: Any) -> float | None:
    """A verdict in [0, 1]: Inspect's letters, numbers and truth values; None for several in one, and for what is outside."""
    if isinstance(value, str):
        if value in _LETTERS:
            return _LETTERS[value]
        try:
            value = float(value)
        except ValueError:
            return None
    inside = isinstance(value, bool | int | float) and 0 <= value <= 1
    return float(value) if inside else None


def _completion(output: Mapping[str, Any], kept: Mapping[str, str]) -> str:
    if isinstance(output.get("completion"), str):
        return _text_of_content(output["completion"], kept)
    choices = output.get("choices") or ()
    return _text_of_content(choices[0]["message"]["content"], kept) if choices else ""


def _text_of_content(value: Any, kept: Mapping[str, str]) -> str:
    """The text of a content: itself, its parts, or the messages of a chat; what is kept apart as an attachment is put back."""
    if isinstance(value, str):
        return kept.get(value.removeprefix("attachment://"), value) if value.startswith("attachment://") else value
    if isinstance(value, Mapping):
        return _text_of_content(value.get("content", value.get("text", "")), kept)
    return "\n\n".join(filter(None, (_text_of_content(part, kept) for part in value)))
