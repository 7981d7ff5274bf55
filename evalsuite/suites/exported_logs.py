"""A run as other tools write theirs: a log of Inspect, samples of lm-eval; what `import` reads comes back as it was."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from evalsuite.store.run_folder import RUN

if TYPE_CHECKING:
    from evalsuite.gold.exchanges import Exchange
    from evalsuite.reports.record import Record
    from evalsuite.types import Result


def told_samples(record: "Record") -> "Iterator[tuple[Result, Exchange]]":
    """The results whose question and answer are texts, in gold order: logs of other tools know no files."""
    for result in record.results:
        exchange = record.exchange(result.instance_id)
        if exchange.question and result.status != "missing":
            yield result, exchange


def inspect_log(record: "Record") -> str:
    """The run as one log of Inspect in JSON (https://inspect.aisi.org.uk/eval-logs.html): a sample each, its verdict with our reason.

    What nobody could judge has no score there.
    """
    run = record.run
    task, model = record.suite, str(run["metadata"].get("model_name") or "none/evalsuite")
    written = (record.folder / RUN).stat().st_mtime if record.folder is not None else time.time()
    begun = datetime.fromtimestamp(written, tz=UTC).isoformat(timespec="seconds")
    samples = [_inspect_sample(result, exchange, model) for result, exchange in told_samples(record)]
    scorers = sorted({name for sample in samples for name in sample["scores"]})
    values = {name: [sample["scores"][name]["value"] for sample in samples if name in sample["scores"]] for name in scorers}
    scores = [
        {
            "name": name,
            "scorer": name,
            "params": {},
            "scored_samples": len(values[name]),
            "unscored_samples": len(samples) - len(values[name]),
            "metrics": {"mean": {"name": "mean", "value": sum(values[name]) / len(values[name]), "params": {}}},
        }
        for name in scorers
    ]
    about = {
        "eval_id": _id_of(record.name),
        "run_id": _id_of(record.name),
        "created": begun,
        "task": task,
        "task_id": _id_of(task),
        "task_version": 0,
        "task_args": {},
        "dataset": {"name": task, "samples": len(samples), "sample_ids": [sample["id"] for sample in samples], "shuffled": False},
        "model": model,
        "model_args": {},
        "config": {},
        "packages": {"evalsuite": run["signature"].partition("|")[0].removeprefix("evalsuite:")},
        "metadata": {"signature": run["signature"]},
    }
    log = {
        "version": 2,
        "status": "success",
        "eval": about,
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": scores},
        "stats": {"started_at": begun, "completed_at": begun, "model_usage": {}},
        "samples": samples,
    }
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def _inspect_sample(result: "Result", exchange: "Exchange", model: str) -> dict[str, Any]:
    own = {"rules": {"official": result.official, "strict": result.strict}, "status": result.status, "fault": result.fault}
    score = {
        "value": result.score,
        "answer": exchange.answer,
        "explanation": exchange.told(result.reason) or result.status,
        "metadata": own,
    }
    message = {"role": "assistant", "content": exchange.answer, "source": "generate", "model": model}
    return {
        "id": result.instance_id,
        "epoch": 1,
        "input": exchange.question,
        "target": exchange.reference,
        "messages": [{"role": "user", "content": exchange.question, "source": "input"}, message],
        "output": {"model": model, "choices": [{"message": message, "stop_reason": "stop"}], "completion": exchange.answer},
        "scores": {} if result.score is None else {result.scorer or "score": score},
        "metadata": {},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }


def lm_eval_samples(record: "Record") -> str:
    """The run as a samples file of lm-eval, a line an instance: `doc_id` counts from 0, `doc.id` is our id, the metric our scorer."""
    return "".join(
        json.dumps(_lm_eval_sample(at, result, exchange), ensure_ascii=False) + "\n"
        for at, (result, exchange) in enumerate(told_samples(record))
    )


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


# The forms by the word for each, and the ending that goes without saying.
EXPORTS: Final[Mapping[str, tuple[str, Callable[["Record"], str]]]] = {
    "inspect": (".json", inspect_log),
    "lm-eval": (".jsonl", lm_eval_samples),
}
