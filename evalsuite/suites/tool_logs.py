"""Logs of other tools: results of promptfoo, logs of Inspect, samples of lm-eval, imported with their verdicts and exported again.

A log becomes a suite with runs of logged samples. A broken sample is left out and named; a file that is cut, or of another kind, is
refused. What `import` reads of an exported run equals the run.
"""

import contextlib
import glob
import hashlib
import json
import math
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import file_digest
from evalsuite.core.errors import UsageError, join_names
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.types import METADATA, Result
from evalsuite.readers.archives import DAMAGE
from evalsuite.readers.paths import refuse_endless
from evalsuite.runs.history import RUNS_FOLDER, find_runs
from evalsuite.runs.run_files import SCHEMA_VERSION, escape_invisible, write_atomically
from evalsuite.runs.run_folder import RUN, RunFolder, new_folder
from evalsuite.runs.summary import summarise, tags_by_instance
from evalsuite.suites.stored_suites import (
    ROOT,
    StoredSuite,
    SuiteError,
    data_hash,
    folder_of,
    gold_of,
    has_suite,
    json_in,
    load_suite,
    new_suite,
    recorded_result,
    save_suite,
    slug,
)

if TYPE_CHECKING:
    from evalsuite.gold.spec import Exchange
    from evalsuite.reports.record import Record


Format = Literal["promptfoo", "inspect", "lm-eval"]
# What a sample raises whose keys or values are not those of its tool.
_ODD: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One sample: `key` distinguishes it within its run, `source_id` is the tool's name; `theirs` in [0, 1], None if unjudged.

    `question` is the same for what asks the same, by default `source_id`.
    `has_no_answer`: the provider failed, or only the chance of a given text was asked for. While a log is read, `theirs` outside means
    another scale.
    """

    key: str
    source_id: str
    input: str
    reference: str | None
    output: str
    theirs: float | None
    question: str = ""
    has_no_answer: bool = False


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The samples of one provider, log or filter; the name contains its label."""

    name: str
    cases: tuple[Logged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLog:
    """A log: its suite, its runs, and what could not be read; `digest` is that of its bytes, `file` its name without the ending.

    `note` says which of its scores are read as verdicts, or why none is.
    """

    format: Format
    suite: str
    runs: tuple[LoggedRun, ...]
    lost: tuple[str, ...]
    digest: str = ""
    file: str = ""
    note: str = ""

    @classmethod
    def from_runs(cls, format_: Format, suite: str, runs: Sequence[LoggedRun], lost: Sequence[str], path: Path) -> "ForeignLog":
        """Return the log of these runs. Raises `UsageError` if none has a sample.

        If one score is outside of [0, 1], no score of the log is a verdict: 1 of 10 is not full marks.
        """
        runs_with_cases = tuple(replace(run, cases=tuple(_distinct(run.cases))) for run in runs if run.cases)
        if not runs_with_cases:
            raise UsageError(f"{path}: no sample in it can be read", hint=f"it looks like a log of {format_}")
        cases = [case for run in runs_with_cases for case in run.cases]
        if not any(case.theirs is not None and not 0 <= case.theirs <= 1 for case in cases):
            return cls(format=format_, suite=suite, runs=runs_with_cases, lost=tuple(lost))
        bare = tuple(replace(run, cases=tuple(replace(case, theirs=None) for case in run.cases)) for run in runs_with_cases)
        note = "its scores are not all from 0 to 1, so none is read as a verdict"
        return cls(format=format_, suite=suite, runs=bare, lost=tuple(lost), note=note)

    def to_json(self) -> dict[str, Any]:
        """Return the log as `import --json` prints it."""
        runs = []
        for run in self.runs:
            cases = [{key: getattr(case, key) for key in ("source_id", "input", "reference", "output", "theirs")} for case in run.cases]
            verdicts = [case.theirs for case in run.cases if case.theirs is not None]
            mean = sum(verdicts) / len(verdicts) if verdicts else None
            runs.append({"name": run.name, "n": len(cases), "theirs": mean, "cases": cases})
        return {"format": self.format, "suite": self.suite, "runs": runs}


def _distinct(cases: Iterable[Logged]) -> Iterator[Logged]:
    """Yield the samples of a run; a sample whose key was used before gets one of its own."""
    times, keys = Counter[str](), set[str]()
    for case in cases:
        key = case.key
        while key in keys:
            times[case.key] += 1
            key = f"{case.key}.repeat{times[case.key] + 1}"
        keys.add(key)
        yield replace(case, key=key)


def _score_in(value: Any) -> float | None:
    """Return a number as a score, None for anything else; all numbers outside of [0, 1] are -1.

    What exceeds the range in the tenth decimal place, as the cosine of equal texts can, is on the scale.
    """
    if not isinstance(value, bool | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return float(min(1, max(0, value))) if 0 <= round(value, 9) <= 1 else -1.0


def text_or_json(value: Any) -> str:
    """Return a text itself, anything else as JSON; None as an empty text."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def save_log(log: ForeignLog, scorer: str | None, root: Path = ROOT, *, name: str | None = None) -> tuple[ForeignLog, list[Path]]:
    """Save the log: its suite, made once, and each run that does not exist yet.

    Returns (the log with the names of its runs, the new folders). A log is recognised by its bytes, whatever its file name: existing runs
    of it keep their names, in the suite of the first import, or that of `name`. A run of another log keeps its name if that is free, else
    the file's name is added. `scorer` None is that of an existing suite, else `string_match`.

    Raises:
        SuiteError: a suite of that name has other cases, or another scorer.
    """
    entries = find_runs(root / RUNS_FOLDER.name)
    same = [entry for entry in entries if log.digest and entry.metadata.get("imported_digest") == log.digest]
    log = replace(log, suite=name or next((entry.suite for entry in same), log.suite))
    suite = _suite_of(log, scorer or "string_match", root)
    if scorer not in (None, suite.scorer):
        hint = "give the import another name by --name: it is scored by its own scorer"
        raise SuiteError(f"the suite {log.suite!r} exists and is scored by {suite.scorer}, not {scorer}", hint=hint)
    suite_runs = [entry.metadata for entry in entries if entry.metadata.get("suite_id") == suite.id]
    numbered = [metadata for metadata in suite_runs if log.digest and metadata.get("imported_digest") == log.digest]
    run_names = {str(metadata.get("imported_number")): metadata.get("run_name") for metadata in numbered}
    used_names = {str(metadata.get("run_name")) for metadata in suite_runs}
    runs, folders = [], []
    for at, run in enumerate(log.runs):
        runs.append(replace(run, name=str(run_names.get(str(at)) or _free_name(run.name, log.file, used_names))))
        if str(at) not in run_names:
            used_names.add(runs[-1].name)
            folders.append(_save_run(log, runs[-1], at, suite, root))
    return replace(log, runs=tuple(runs)), folders


def _free_name(name: str, file: str, run_names: Set[str]) -> str:
    """Return the name of a new run: its own, with the file's if that is taken, with a number if that is taken too."""
    longer = name if file in name else f"{name} ({file})"
    return next(candidate for candidate in chain([name, longer], (f"{longer} {n}" for n in count(2))) if candidate not in run_names)


def _suite_of(log: ForeignLog, scorer: str, root: Path) -> StoredSuite:
    """Return the suite of the log, created if necessary."""
    cases: dict[str, Logged] = {}
    for case in chain.from_iterable(run.cases for run in log.runs):
        cases.setdefault(case.key, case)
    references = [case.reference for case in cases.values()]
    groups: dict[str, list[str]] = {}
    for case in cases.values():
        groups.setdefault(case.question or case.source_id, []).append(case.key)
    new = new_suite(
        log.suite,
        scorer,
        inputs=[case.input for case in cases.values()],
        references=references if any(text is not None for text in references) else None,
        case_ids=list(cases),
        description=f"imported from {log.format}",
        # Epochs, repeats and prompts of one sample are not independent.
        extra={"clusters": groups} if len(groups) < len(cases) else None,
        foreign=True,
    )
    if not has_suite(log.suite, root):
        save_suite(new, root)
        return new
    suite = load_suite(log.suite, root)
    # In any order: requests to several models at once are logged as they finish.
    if {case.id: case for case in suite.test_cases} != {case.id: case for case in new.test_cases}:
        raise SuiteError(f"the suite {log.suite!r} exists and has other cases", hint="give the import another name by --name")
    return suite


def _save_run(log: ForeignLog, run: LoggedRun, at: int, suite: StoredSuite, root: Path) -> Path:
    by_key = {case.key: case for case in run.cases}
    submission = folder_of(suite.name, root) / "submissions" / slug(run.name)
    submission.mkdir(parents=True, exist_ok=True)
    rows = [{"instance_id": key, "answer_type": "answer", "answer_or_path": logged.output} for key, logged in by_key.items()]
    write_atomically(submission / METADATA, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    results = [_verdict_as_result(log, case.id, by_key.get(case.id), suite.scorer) for case in suite.test_cases]
    digest = data_hash([case.input for case in run.cases], [case.output for case in run.cases])
    tags = tags_by_instance(suite.clusters.items())
    summary = summarise(results, rules="strict", groups=tags, clusters=list(suite.clusters))
    imported = {"imported_from": log.format, "imported_digest": log.digest, "imported_number": at}
    about = {
        "schema_version": SCHEMA_VERSION,
        "signature": f"import:{log.format}|data:{suite.data_hash}",
        "options": {"rules": "strict"},
        "submission": {"folder": str(submission), "n_objects": len(rows), "hash": digest},
        "gold": {
            **{"folder": str(gold_of(suite.name, root)), "name": suite.name, "hash": suite.data_hash, "n_instances": len(results)},
            "clusters": list(suite.clusters),
        },
        "groups": suite.clusters,
        "summary": summary.to_json(),
        "metadata": {"run_name": run.name, "suite_id": suite.id, **imported},
        "receipt": {"isolation": "none: imported"},
        "warnings": [],
        "seconds": 0.0,
    }
    folder = new_folder(root / RUNS_FOLDER.name, slug(run.name))
    RunFolder(folder).open({"submission": digest}).finish(results, about)
    return folder


def _verdict_as_result(log: ForeignLog, case_id: str, logged: Logged | None, scorer: str) -> Result:
    """Return the tool's verdict as a result; an unjudged sample is unscored, not 0."""
    if logged is None:
        return recorded_result(case_id, scorer, 0.0, "not in the log", is_missing=True)
    words = "no verdict" if logged.theirs is None else f"{logged.theirs:g}"
    details = {"source_id": logged.source_id, "output": logged.output}
    return recorded_result(case_id, scorer, logged.theirs, f"verdict of {log.format}: {words}", details)


_STAMP: Final = re.compile(r"_\d{4}-\d{2}-\d{2}T.*$")
# Keys of a line that are not metrics.
_NO_METRIC: Final = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"})


def read_samples(path: Path, text: str) -> ForeignLog:
    """Return the samples of one task. Raises `UsageError` for a file that is cut or has none."""
    runs: dict[str, list[Logged]] = {}
    lost: list[str] = []
    metrics: list[str] = []
    targets = _Targets()
    lines = text.split("\n")
    task = _STAMP.sub("", path.stem.removeprefix("samples_"))
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                raise UsageError(f"{path}:{number}: the last line is cut", hint="copy the file again") from None
            lost.append(f"line {number}")
            continue
        try:
            metrics = metrics or _metrics_of(row)
            entry = _logged_case(row, next(iter(metrics), ""), targets)
            runs.setdefault(str(row.get("filter") or "none"), []).append(entry)
        except _ODD:
            lost.append(f"line {number}")
    if not runs:
        raise UsageError(f"{path}: no sample of lm-eval in it", hint="samples_TASK_TIME.jsonl, written by `lm_eval --log_samples`")
    logged = [LoggedRun(f"{task}-{name}", tuple(map(targets.corrected, cases))) for name, cases in runs.items()]
    log = ForeignLog.from_runs("lm-eval", task, logged, lost, path)
    log = _naming_verdict(log, metrics)
    if metrics and (results := _file_with_direction(path, task, metrics[0])):
        note = f"of the score {metrics[0]} less is better, as {results} says: it is read as no verdict"
        runs_without = [replace(run, cases=tuple(replace(case, theirs=None) for case in run.cases)) for run in log.runs]
        log = replace(log, runs=tuple(runs_without), note=note)
    return replace(log, note="; ".join(filter(None, (log.note, targets.note))))


def _file_with_direction(path: Path, task: str, metric: str) -> str:
    """Return the name of the file of results, written with the samples, that says less is better of a metric; empty if none does.

    The samples themselves do not say it.
    """
    stamp = _STAMP.search(path.stem)
    for results in sorted(path.parent.glob(f"*{glob.escape(stamp[0])}.json")) if stamp else ():
        with contextlib.suppress(OSError, *_ODD):
            if json.loads(results.read_text(encoding="utf-8"))["higher_is_better"][task][metric] is False:
                return results.name
    return ""


@dataclass(slots=True)
class _Targets:
    """Targets of choices that are numbers: the index of an option, or an option's own text.

    lm-eval writes both as text. `texts` are those that can be either; what the log's other targets and its `acc` exclude decides for all.
    """

    texts: dict[str, str] = field(default_factory=dict)
    can_be_index: bool = True
    can_be_text: bool = True

    def read(self, row: Mapping[str, Any], options: Sequence[str], output: str, metric: str) -> Any:
        """Return the target of a line, the option if it is an index; `acc` says whether the output is it."""
        target, theirs = row.get("target"), _score_in(row.get(metric)) if metric == "acc" else None
        right = theirs == 1 if theirs in (0, 1) else None
        text = str(target).strip()
        at = int(text) if text.isdecimal() else len(options)
        by_index = options[at] if at < len(options) else None
        if not text.isdecimal() or by_index == text:
            return target
        self.can_be_index &= by_index is not None and right in (None, output == by_index)
        self.can_be_text &= text in options and right in (None, output == text)
        if by_index is not None and text in options:
            self.texts[str(row["doc_id"])] = text
        return target if by_index is None else by_index

    def corrected(self, case: Logged) -> Logged:
        """Return a case with its target as text if no target of the log can be an index."""
        is_text = case.source_id in self.texts and self.can_be_text and not self.can_be_index
        return replace(case, reference=text_or_json(self.texts[case.source_id])) if is_text else case

    @property
    def note(self) -> str:
        """What cannot be known; empty if the log tells it."""
        if not self.texts or self.can_be_index != self.can_be_text:
            return ""
        n = f"{len(self.texts)} targets" if len(self.texts) > 1 else "1 target"
        return f"{n} may be the index of an option or its text, and the log does not say which: taken for the index"


def _naming_verdict(log: ForeignLog, names: Sequence[str]) -> ForeignLog:
    """Return the log with a note if its samples have several scores, of which the first is read."""
    note = f"the score {names[0]} is read as the verdict, not {join_names(names[1:])}" if names[1:] else ""
    return replace(log, note=log.note or note)


def _logged_case(row: Mapping[str, Any], metric: str, targets: _Targets) -> Logged:
    # Newer files name the calls of a sample (`gen_args_0`), older ones list them.
    arguments = row["arguments"].values() if isinstance(row["arguments"], Mapping) else row["arguments"]
    calls = [list(call.values()) if isinstance(call, Mapping) else list(call) for call in arguments]
    responses = row["filtered_resps"] if "filtered_resps" in row else row["resps"]
    if len(calls) == len(responses) and calls[0][0]:
        # For `acc_mutual_info` each continuation is asked for again without the question.
        responses = [response for call, response in zip(calls, responses, strict=True) if call[0]]
        calls = [call for call in calls if call[0]]
    options = [str(call[1]) for call in calls if len(call) > 1 and isinstance(call[1], str)]
    target = row.get("target")
    if options and len(options) == len(responses) > 1:
        output, options = _likeliest(options, responses)
        target = targets.read(row, options, output, metric)
    else:
        output = _answer_in(responses, options, is_generated=len(calls[0]) > 1 and not options)
    doc = str(row["doc_id"])
    return Logged(
        key=doc,
        source_id=doc,
        input=text_or_json(calls[0][0]),
        reference=None if target is None else text_or_json(target),
        output=text_or_json(output),
        theirs=_score_in(row.get(metric)),
        has_no_answer=output is None,
    )


def _likeliest(options: Sequence[str], responses: Sequence[Any]) -> tuple[Any, list[str]]:
    """Return (the likeliest of several continuations, which is the answer, all of them), without the space at their ends."""
    chances = [float(response[0] if isinstance(response, list) else response) for response in responses]
    if any(map(math.isnan, chances)):
        raise ValueError("no continuation is the likeliest")
    options = [option.strip() for option in options]
    return options[chances.index(max(chances))], options


def _answer_in(responses: Any, options: Sequence[str], *, is_generated: bool) -> Any:
    """Return what the model wrote; None where only the chance of a text was asked for that it would not have written."""
    response = responses[0] if isinstance(responses, list) and responses else responses
    if not is_generated:
        return options[0].strip() if len(options) == 1 and isinstance(response, list) and str(response[-1]) == "True" else None
    while isinstance(response, list) and response:
        response = response[0]
    return response


def _metrics_of(row: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a line that are numbers, in its order."""
    names = row.get("metrics") if isinstance(row.get("metrics"), list) else None
    return [name for name in names or row if name not in _NO_METRIC and _score_in(row.get(name)) is not None]


_KNOWN: Final = "known: results of promptfoo (.json), logs of Inspect (.eval, .json), samples_*.jsonl of lm-eval"
# Inspect's own letters: correct, partial, incorrect, no answer.
_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# The reason in the results of promptfoo for a test that asserts nothing; it passes with a score of 1.
_UNTESTED: Final = "No assertions"
# Assertions of promptfoo whose value is the right answer.
_COMPARES: Final = frozenset({
    *("equals", "contains", "icontains", "starts-with", "similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor"),
    *("factuality", "model-graded-factuality"),
})  # fmt: skip
_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_TEMPLATE: Final = re.compile(r"\{[{%]")
_ZSTD: Final = "`inspect log convert LOG.eval --to json --output-dir DIR` writes it as JSON, which is read; Python 3.14 reads it as it is"


def read_log(path: Path) -> ForeignLog:
    """Return the log in a file, recognised by its content, with the digest of its bytes. Raises `UsageError` that names the file."""
    refuse_endless(path)
    try:
        if not is_file(path):
            raise UsageError(f"{path}: {'a folder' if is_dir(path) else 'no such file'}", hint=_KNOWN)
        digest = file_digest(path)
        if zipfile.is_zipfile(path):
            log = _inspect_archive(path)
        elif path.suffix == ".eval":
            raise UsageError(f"{path}: not a complete Inspect log: it is cut, or not an archive", hint="copy it again")
        else:
            text = path.read_text(encoding="utf-8-sig")
            log = read_samples(path, text) if path.suffix == ".jsonl" else _log_of_json(path, text)
        return replace(log, digest=digest, file=path.stem)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint=_KNOWN) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be read'}", hint=_KNOWN) from None


def _log_of_json(path: Path, text: str) -> ForeignLog:
    value = json_in(path, text, _KNOWN, else_=", so not a log")
    if isinstance(value, dict) and isinstance(value.get("eval"), dict) and isinstance(value.get("samples"), list):
        return _inspect_log(path, value, enumerate(value["samples"], start=1), ())
    results = value.get("results") if isinstance(value, dict) else None
    rows = results.get("results") if isinstance(results, dict) else results
    if isinstance(rows, list) and rows and all(isinstance(row, dict) and {"provider", "prompt"} <= row.keys() for row in rows):
        return _promptfoo(path, value, rows)
    raise UsageError(f"{path}: not a log of a known tool", hint=_KNOWN)


def _promptfoo(path: Path, value: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ForeignLog:
    """Return a run for each provider, by its label, and a case for each test, whose index is its `source_id`; for several prompts one run
    each.

    promptfoo counts prompts provider by provider: the same prompt has another `promptIdx` under each of them.
    """
    prompts = _prompts_of(rows)
    several = any(len(prompts_of_provider) > 1 for prompts_of_provider in prompts.values())
    numbers = {
        prompt: at
        for at, prompt in enumerate(
            dict.fromkeys(prompt for prompts_of_provider in prompts.values() for prompt in prompts_of_provider.values())
        )
    }
    runs: dict[str, list[Logged]] = {}
    tests: dict[str, int] = {}
    questions: dict[str, str] = {}
    lost = []
    has_scale = any(_score_in(row.get("score")) == -1 for row in rows)
    for at, row in enumerate(rows):
        try:
            label = _provider_of(row)
            # In a log without numbers tests are distinguished by their variables; without any each row is one.
            number = tests.setdefault(json.dumps(row.get("vars") or at, sort_keys=True), len(tests))
            test, prompt = row.get("testIdx", number), row["prompt"]
            # Under --repeat the same variables have another index each time.
            question = questions.setdefault(json.dumps(row.get("vars") or f"test {test}", sort_keys=True), str(test))
            response = row.get("response") or {}
            raw = prompt["raw"] if isinstance(prompt, Mapping) else prompt
            key = f"{test}.{numbers[prompts[label][row.get('promptIdx', 0)]]}" if several else str(test)
            entry = Logged(
                key=key,
                source_id=str(test),
                question=question,
                input=text_or_json(raw),
                reference=_promptfoo_reference(row),
                output=text_or_json(response.get("output", "") if isinstance(response, Mapping) else response),
                theirs=_promptfoo_verdict(row, has_scale=has_scale),
                has_no_answer=_has_failed(row),
            )
        except _ODD:
            lost.append(f"result {at + 1}")
            continue
        runs.setdefault(label, []).append(entry)
    config = value.get("config")
    name = str(config.get("description") or "") if isinstance(config, Mapping) else ""
    log = ForeignLog.from_runs(
        "promptfoo", name or path.stem, [LoggedRun(label, tuple(cases)) for label, cases in runs.items()], lost, path
    )
    return replace(log, note="its scores are not all from 0 to 1: passed and failed are its verdicts") if has_scale else log


def _provider_of(row: Mapping[str, Any]) -> str:
    provider = row["provider"]
    return str(provider.get("label") or provider["id"]) if isinstance(provider, Mapping) else str(provider)


def _prompts_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[Any, str]]:
    """Return for each provider its prompts by `promptIdx`: by promptfoo's names, else counted."""
    prompts: dict[str, dict[Any, str]] = {}
    for row in rows:
        # An unreadable row is reported elsewhere.
        with contextlib.suppress(KeyError, TypeError):
            ids, prompt = prompts.setdefault(_provider_of(row), {}), row["prompt"]
            label = prompt.get("label") if isinstance(prompt, Mapping) else None
            # A label may be the rendered prompt, which differs for each test.
            prompt_id = row.get("promptId") or (label if isinstance(prompt, Mapping) and label != prompt.get("raw") else None)
            ids.setdefault(row.get("promptIdx", 0), str(prompt_id or len(ids)))
    return prompts


def _has_failed(row: Mapping[str, Any]) -> bool:
    """Return whether a result of promptfoo has no answer because the provider failed."""
    return row.get("failureReason") == 2 or bool(row.get("error") and not row.get("response"))


def _promptfoo_verdict(row: Mapping[str, Any], *, has_scale: bool) -> float | None:
    """Return the score; None if the provider failed, because then there is no answer, or if no verdict is recorded.

    If the log `has_scale` of its own, that is whether the test passed.
    """
    grading = row.get("gradingResult")
    is_untested = isinstance(grading, Mapping) and grading.get("reason") == _UNTESTED
    if is_untested or _has_failed(row):
        return None
    score = _score_in(row.get("score"))
    if score is not None and not has_scale:
        return score
    return float(row["success"]) if isinstance(row["success"], bool) else None


def _promptfoo_reference(row: Mapping[str, Any]) -> str | None:
    """Return the only text that assertions compare with, a variable before a literal; else the only variable that others name.

    A variable named `reference` comes before a literal. One that the prompt contains, as `{{question}}`, or that is a whole rubric, is no
    reference.
    """
    case = row.get("testCase") or {}
    variables = {**(case.get("vars") or {}), **(row.get("vars") or {})}
    prompt = row["prompt"]
    raw = text_or_json(prompt.get("raw") if isinstance(prompt, Mapping) else prompt)
    exact, literal, others = _asserted_texts(case.get("assert") or (), variables)
    reference = variables.get("reference")
    known = {text_or_json(reference)} if reference is not None else set()
    texts = exact or known or literal or {text for text in others if text not in raw}
    return texts.pop() if len(texts) == 1 else None


def _is_in_log(value: str, variables: Mapping[str, Any]) -> bool:
    """Return whether a log contains what an assertion's value stands for: it names no file, and of templates only known variables."""
    has_more = value.startswith("file://") or _TEMPLATE.search(_VARIABLE.sub("", value)) is not None
    return not has_more and variables.keys() >= set(_VARIABLE.findall(value))


def _asserted_texts(assertions: Iterable[Any], variables: Mapping[str, Any]) -> tuple[set[str], set[str], set[str]]:
    """Return the variables and the literals that assertions compare with, and the variables within other assertions, as texts."""
    exact, literal, others = set[str](), set[str](), set[str]()
    for assertion in assertions:
        if not isinstance(assertion, Mapping) or not isinstance(assertion.get("value"), str | int | float):
            continue
        kind, value = str(assertion.get("type")), text_or_json(assertion["value"])
        is_variable = _VARIABLE.fullmatch(value.strip()) is not None
        if kind in _COMPARES:
            if _is_in_log(value, variables):
                text = _VARIABLE.sub(lambda match: text_or_json(variables[match[1]]), value)
                (exact if is_variable else literal).add(text.strip() if is_variable else text)
        elif not kind.startswith("not-") and not is_variable:
            others.update(text_or_json(variables[name]) for name in _VARIABLE.findall(value) if name in variables)
    return exact, literal, others


# A disk that fails is no damage.
_BROKEN: Final[tuple[type[Exception], ...]] = tuple(kind for kind in DAMAGE if kind is not OSError)
# zipfile has a RuntimeError for what is encrypted.
_UNREADABLE: Final[tuple[type[Exception], ...]] = (*_BROKEN, *_ODD, RuntimeError)


def _inspect_archive(path: Path) -> ForeignLog:
    """Read a `.eval` file: an archive with a header and a file for each sample."""
    lost: list[str] = []

    def samples(archive: zipfile.ZipFile, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        for name in names:
            try:
                yield name, json.loads(archive.read(name))
            except _BROKEN:
                lost.append(name)

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if head is None:
                raise UsageError(f"{path}: an archive, but not an Inspect log", hint=_KNOWN)
            about = json.loads(archive.read(head))
            sample_names = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            return _inspect_log(path, about, samples(archive, sample_names), lost)
    except NotImplementedError:
        raise UsageError(f"{path}: compressed in a way that this Python cannot read", hint=_ZSTD) from None
    except _UNREADABLE:
        raise UsageError(f"{path}: not a complete Inspect log", hint="copy it again") from None


def _inspect_log(path: Path, head: Mapping[str, Any], samples: Any, lost: Sequence[str]) -> ForeignLog:
    """Return one run: the verdict of the log's first scorer on each sample; each epoch after the first is a case of its own."""
    about, cases, odd, lost_samples, names = head["eval"], list[Logged](), list[Any](), [], dict[str, None]()
    for where, sample in samples:
        try:
            attachments = sample.get("attachments") or {}
            scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
            names.update(dict.fromkeys(scores.keys()))
            score = scores.get(next(iter(names), ""))
            theirs = None if score is None else _inspect_value(score["value"])
            if theirs is None and score is not None and isinstance(score["value"], str | list | dict):
                odd.append(score["value"])
            epoch = int(sample.get("epoch") or 1)
            cases.append(
                Logged(
                    key=str(sample["id"]) if epoch == 1 else f"{sample['id']}.epoch{epoch}",
                    source_id=str(sample["id"]),
                    input=_text_of_content(sample["input"], attachments),
                    reference=_target_text(sample.get("target")),
                    output=(output := _completion(sample.get("output") or {}, attachments)),
                    has_no_answer=bool(sample.get("error")) and not output and not scores,
                    theirs=theirs,
                )
            )
        except _ODD:
            lost_samples.append(f"sample {where}")
    label = f"{path.stem} ({about['model']})" if about.get("model") else path.stem
    runs = [LoggedRun(label, tuple(cases))]
    log = ForeignLog.from_runs("inspect", str(about.get("task") or path.stem), runs, [*lost, *lost_samples], path)
    log = _naming_verdict(log, list(names))
    n = f"{len(odd)} samples have" if len(odd) > 1 else "1 sample has"
    unread = f"{n} a score {next(iter(names))} that is neither a number nor a letter of Inspect, so not judged" if odd else ""
    return replace(log, note="; ".join(filter(None, (log.note, unread, *_notes_on_inspect(head, cases)))))


def _target_text(target: Any) -> str | None:
    return None if target is None else " | ".join(map(str, target)) if isinstance(target, list) else text_or_json(target)


def _notes_on_inspect(head: Mapping[str, Any], cases: Sequence[Logged]) -> Iterator[str]:
    """Yield why Inspect's own numbers may be others: samples that were not run, and epochs that it did not average."""
    about, status = head["eval"], str(head.get("status") or "started")
    if status != "success":
        # What is of another type is not counted.
        with contextlib.suppress(*_ODD):
            planned = len(about["dataset"]["sample_ids"]) * int(about["config"].get("epochs") or 1)
            status = f"{status}, {len(cases)} of {planned} samples are in the log"
        yield f"the evaluation did not finish: {status}"
    with contextlib.suppress(*_ODD):
        reducer = head["results"]["scores"][0].get("reducer")
        if reducer not in (None, "mean"):
            yield f"Inspect reduced the epochs of a sample by {reducer}, here each epoch counts"


def _inspect_value(value: Any) -> float | None:
    """Return a verdict as Inspect counts it: its letters and words, numbers and booleans; None for several in one."""
    if isinstance(value, str):
        if (known := _LETTERS.get(value, _WORDS.get(value.lower()))) is not None:
            return known
        try:
            value = float(value)
        except ValueError:
            return None
    return _score_in(value)


def _completion(output: Mapping[str, Any], attachments: Mapping[str, str]) -> str:
    if isinstance(output.get("completion"), str):
        return _text_of_content(output["completion"], attachments)
    choices = output.get("choices") or ()
    return _text_of_content(choices[0]["message"]["content"], attachments) if choices else ""


def _text_of_content(value: Any, attachments: Mapping[str, str]) -> str:
    """Return the text of a content: itself, its parts, or the messages of a chat, with attachments inserted."""
    if isinstance(value, str):
        return text_or_json(attachments.get(value.removeprefix("attachment://"), value)) if value.startswith("attachment://") else value
    if isinstance(value, Mapping):
        return _text_of_content(value.get("content", value.get("text", "")), attachments)
    return "\n\n".join(filter(None, (_text_of_content(part, attachments) for part in value)))


def text_samples(record: "Record") -> "list[tuple[Result, Exchange]]":
    """Return the results whose question and answer are texts, in gold order: logs of other tools have no files."""
    pairs = [(result, record.exchange(result.instance_id)) for result in record.results if result.status != "missing"]
    return [(result, exchange) for result, exchange in pairs if exchange.question]


def inspect_log(record: "Record") -> str:
    """Return the run as one Inspect log in JSON (https://inspect.aisi.org.uk/eval-logs.html): a sample each, its verdict with our reason.

    Unjudged instances have no score there.
    """
    run = record.run
    task, model = record.suite, str(run["metadata"].get("model_name") or "none/evalsuite")
    written = (record.folder / RUN).stat().st_mtime if record.folder is not None else time.time()
    started = datetime.fromtimestamp(written, tz=UTC).isoformat(timespec="seconds")
    samples = [_inspect_sample(result, exchange, model) for result, exchange in text_samples(record)]
    scores = []
    for name in sorted({name for sample in samples for name in sample["scores"]}):
        values = [sample["scores"][name]["value"] for sample in samples if name in sample["scores"]]
        counts = {"scored_samples": len(values), "unscored_samples": len(samples) - len(values)}
        mean = {"name": "mean", "value": sum(values) / len(values), "params": {}}
        scores.append({"name": name, "scorer": name, "params": {}, **counts, "metrics": {"mean": mean}})
    about = {
        **dict.fromkeys(("eval_id", "run_id"), _id_of(record.name)),
        "created": started,
        **{"task": task, "task_id": _id_of(task), "task_version": 0, "task_args": {}},
        "dataset": {"name": task, "samples": len(samples), "sample_ids": [sample["id"] for sample in samples], "shuffled": False},
        **{"model": model, "model_args": {}, "config": {}},
        "packages": {"evalsuite": run["signature"].partition("|")[0].removeprefix("evalsuite:")},
        "metadata": {"signature": run["signature"]},
    }
    log = {
        **{"version": 2, "status": "success", "eval": about, "plan": {"name": "plan", "steps": [], "config": {}}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": scores},
        "stats": {"started_at": started, "completed_at": started, "model_usage": {}},
        "samples": samples,
    }
    return escape_invisible(json.dumps(log, ensure_ascii=False, indent=1)) + "\n"


def _inspect_sample(result: "Result", exchange: "Exchange", model: str) -> dict[str, Any]:
    verdicts = {"rules": {"official": result.official, "strict": result.strict}, "status": result.status, "fault": result.fault}
    reason = exchange.full_reason(result.reason) or result.status
    score = {"value": result.score, "answer": exchange.answer, "explanation": reason, "metadata": verdicts}
    message = {"role": "assistant", "content": exchange.answer, "source": "generate", "model": model}
    return {
        "id": result.instance_id,
        "epoch": 1,
        "input": exchange.question,
        "target": exchange.reference,
        "messages": [{"role": "user", "content": exchange.question, "source": "input"}, message],
        "output": {"model": model, "choices": [{"message": message, "stop_reason": "stop"}], "completion": exchange.answer},
        "scores": {} if result.score is None else {result.scorer or "score": score},
        **{"metadata": {}, "store": {}, "events": [], "model_usage": {}, "attachments": {}},
    }


def lm_eval_samples(record: "Record") -> str:
    """Return the run as a samples file of lm-eval: `doc_id` counts from 0, `doc.id` is our id, the metric our scorer."""
    samples = (_lm_eval_sample(at, result, exchange) for at, (result, exchange) in enumerate(text_samples(record)))
    return "".join(escape_invisible(json.dumps(sample, ensure_ascii=False)) + "\n" for sample in samples)


def _lm_eval_sample(at: int, result: "Result", exchange: "Exchange") -> dict[str, Any]:
    metric = result.scorer or "score"
    hashes = {f"{name}_hash": _id_of(text) for name, text in (("doc", result.instance_id), ("prompt", exchange.question))}
    return {
        "doc_id": at,
        "doc": {"id": result.instance_id, "question": exchange.question},
        "target": exchange.reference,
        "arguments": {"gen_args_0": {"arg_0": exchange.question, "arg_1": {}}},
        "resps": [[exchange.answer]],
        "filtered_resps": [exchange.answer],
        "filter": "none",
        "metrics": [metric],
        **hashes,
        "target_hash": _id_of(exchange.reference),
        **({} if result.score is None else {metric: result.score}),
    }


def _id_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:22]


# The forms by name, each with its default ending.
EXPORTS: Final[Mapping[str, tuple[str, Callable[["Record"], str]]]] = {
    "inspect": (".json", inspect_log),
    "lm-eval": (".jsonl", lm_eval_samples),
}
