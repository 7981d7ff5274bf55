"""`evalsuite gold scorers`, `connections`, `doctor`, `keys` and `judge`: what is installed, what the machine supports."""

import contextlib
import json
import shlex
import shutil
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument, Option
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import (
    EXIT_OK,
    EXIT_UNSCORABLE,
    EXIT_USAGE,
    EvalsuiteError,
    FaultError,
    UsageError,
    count_words,
    describe,
    error_sentence,
    join_names,
)
from evalsuite.core.files import is_dir

if TYPE_CHECKING:
    from evalsuite.core.registry import Scorer
    from evalsuite.gold.connection_files import Connections
    from evalsuite.reports.score_text import Help
    from evalsuite.scorers.judge.client import Exchange
    from evalsuite.scorers.judge.settings import Settings


def scorers_command(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="explain this scorer")] = None,
    plugin: opt.Plugins = None,
    json_: Annotated[bool, Option("--json", help="print JSON and nothing else")] = False,
) -> int:
    """List the scorers, or explain one: its parameters, both rules, an example."""
    from evalsuite.reports.score_text import help_of, scorer_help_text, scorer_list_text
    from evalsuite.scorers import SCORERS

    opt.load_plugins(plugin)
    entries = [SCORERS.load(name)] if name is not None else [SCORERS.load(scorer) for scorer in SCORERS.names()]
    helps = [help_of(entry) for entry in entries]
    if json_:
        print(json.dumps(helps[0].to_json() if name is not None else [about.to_json() for about in helps], indent=2))
    elif name is None:
        print(scorer_list_text(helps), end="")
        print("`evalsuite gold scorers NAME` explains one")
    else:
        print(scorer_help_text(helps[0], command=_example_command(entries[0], helps[0])), end="")
    return EXIT_OK


def _example_command(entry: "Scorer", about: "Help") -> str:
    """Return the scorer's example as an `evalsuite check` command; empty without one."""
    from evalsuite.cli.prediction import join_words

    parameters = about.example.get("parameters")
    if parameters is None:
        return ""
    gold = parameters.get("gold")
    files = entry.marker.gold_files is not None and entry.marker.reads != "tree"
    golds = gold if isinstance(gold, list) else [gold]
    n_predictions = len(golds) if entry.marker.reads == "tables" else 1
    predictions = [f"answer{i}" if n_predictions > 1 else "answer" for i in range(1, n_predictions + 1)] if files else ["the answer"]
    ending = golds[0].rpartition(".")[2] if files else ""
    words = [word for text in predictions for word in ("--prediction", f"{text}.{ending}" if files else text)]
    return shlex.join(["evalsuite", "check", entry.name, *words, *join_words(entry, parameters)])


ConnectionsGold = Annotated[Path | None, Option("--gold", "--gold-dir", help="a gold folder with more connections", metavar="DIR")]
DatabaseFolder = Annotated[Path | None, Option(help="the folder of database files", metavar="DIR")]


def connections_list(gold: ConnectionsGold = None, databases: DatabaseFolder = None) -> int:
    """List the configured connections: name, engine, where it is configured, its instances; secrets are not shown."""
    from evalsuite.gold.connection_files import read_connections

    connections = read_connections(_connections_folder(gold), databases=databases)
    for entry in connections.entries.values():
        n = len(entry.instances)
        parts = [count_words(n, "instance")] * bool(n)
        parts += [f"prefix {', '.join(entry.prefixes)}"] * bool(entry.prefixes)
        parts += [f"metadata {', '.join(entry.metadata)}"] * bool(entry.metadata)
        use = "; ".join(parts) or "used where gold names it"
        print(clean(f"{entry.name:<16} {entry.engine:<10} {entry.where:<28} {use}"))
    if not connections.entries:
        print("no connections; docs/connections.md shows how to configure them")
    return EXIT_OK


def connections_test(
    names: Annotated[list[str] | None, Argument(metavar="[NAME]...", help="the connections to test; all if none is named")] = None,
    gold: ConnectionsGold = None,
    databases: DatabaseFolder = None,
    seconds: Annotated[float, Option(help="wall clock of each test", min=0.1)] = 30.0,
    sql: Annotated[str, Option(help="the SELECT that is run", metavar="SELECT")] = "SELECT 1 AS one",
) -> int:
    """Open each connection read-only and run a SELECT on it; exit code 2 if one of them fails."""
    from evalsuite.gold.connection_files import read_connections

    connections = read_connections(_connections_folder(gold), databases=databases)
    chosen = names or list(connections.entries)
    failed = 0
    for name in chosen:
        works, outcome = _test_connection(connections, name, seconds, sql)
        failed += not works
        print(clean(f" {'✓' if works else '✗'} {name:<16} {outcome}"))
    if not chosen:
        print("no connections; docs/connections.md shows how to configure them")
        return EXIT_OK
    print(f"{'failed' if failed else 'done'}: {len(chosen) - failed} of {len(chosen)} work")
    return EXIT_USAGE if failed else EXIT_OK


def _test_connection(connections: "Connections", name: str, seconds: float, sql: str) -> tuple[bool, str]:
    """Return (success, message) of one connection."""
    from evalsuite.gold.checkout import with_login
    from evalsuite.sql import ENGINES, open_session
    from evalsuite.sql.execution import ask
    from evalsuite.sql.session import QueryLimits, only_statement

    try:
        connection = with_login(connections.get(name))
        limits = QueryLimits(seconds=seconds)
        with contextlib.closing(open_session(connection, limits)) as session:
            executed = ask(session, only_statement(sql, ENGINES[connection.engine].dialect), limits)
            about = session.describe()
            cache_words = "results are kept" if session.fingerprint() else "results are not kept: no `version`"
    except (EvalsuiteError, FaultError) as error:
        return False, error_sentence(error)
    billed = "" if executed.cost.billed_bytes is None else f", {executed.cost.billed_bytes} bytes billed"
    rows, columns = executed.table.n_rows, len(executed.table.header)
    shape = f"{count_words(rows, 'row')} x {count_words(columns, 'column')}"
    return True, f"{about} · {shape} in {executed.cost.seconds:.2f} s{billed} · {cache_words}"


def _connections_folder(gold: Path | None) -> Path | None:
    """Return the named folder, else `gold` if it exists. Raises `UsageError` if the named one does not exist."""
    if gold is None:
        return Path("gold") if is_dir(Path("gold")) else None
    if not is_dir(gold):
        raise UsageError(f"no folder {gold}", hint="--gold names a gold folder")
    return gold


connections_commands = opt.Group.from_class(connections_list, connections_test)


def doctor_command(
    gold: Annotated[Path | None, Argument(metavar="[GOLD]", help="a gold folder: list what this machine lacks to score it")] = None,
    databases: DatabaseFolder = None,
    questions: opt.Questions = None,
    json_: Annotated[bool, Option("--json", help="print one JSON object and nothing else")] = False,
) -> int:
    """Check which sandbox features this machine supports; with a gold folder, what is missing to score it, and for how many instances."""
    from evalsuite.sandbox.worker_sandbox import sandbox_features

    if gold is not None:
        return _show_needs(gold, databases, questions, as_json=json_)
    if databases is not None or questions is not None:
        raise UsageError("--databases and --questions go with a gold folder", hint="evalsuite doctor GOLD --databases DIR")

    rows = list(sandbox_features())
    if json_:
        print(json.dumps({name: {"stands": is_active, "what": what} for name, is_active, what in rows}, indent=2))
        return EXIT_OK
    width = shutil.get_terminal_size().columns
    # The key in JSON is older than the word.
    shown = [(name.replace("jail", "programs"), is_active, what) for name, is_active, what in rows]
    for name, is_active, what in shown:
        head = f" {name:<12} {'yes' if is_active else 'no':<4} "
        print(textwrap.fill(what, max(40, width), initial_indent=head, subsequent_indent=" " * len(head)))
    absent = [name for name, is_active, _ in shown if not is_active]
    print(
        "done: every sandbox feature is supported"
        if not absent
        else f"done: not supported on this machine: {', '.join(absent)}; SECURITY.md explains what that means"
    )
    return EXIT_OK


def _show_needs(gold: Path, databases: Path | None, questions: Path | None, *, as_json: bool) -> int:
    """Print what scoring this gold needs that is missing, and how to install or configure it."""
    from evalsuite.analysis.gold_checks.readiness import needs_of

    read, needs = needs_of(gold, databases=databases, questions=questions)
    blocked = {id_ for need in needs for id_ in need.instances}
    n = len(read.instances)
    if as_json:
        rows = [{"what": need.what, "mend": need.mend, "instances": list(need.instances)} for need in needs]
        print(json.dumps({"n_instances": n, "n_lacking": len(blocked), "needs": rows}, indent=2))
        return EXIT_OK
    for need in needs:
        several = "s" * (len(need.instances) != 1)
        print(clean(f" {len(need.instances)} instance{several}: {need.what}"))
        print(clean(f"   mend: {need.mend}"))
        print(clean(f"   {join_names(need.instances)}"))
    if any(need.only_queries for need in needs):
        n_tables = n - len({id_ for need in needs if not need.only_queries for id_ in need.instances})
        print(f" note: answers that are files need no connection: those to {n_tables} of {n} instances can be scored")
    ready = f"{n - len(blocked)} of {n} instances have all they need"
    ready = f"nothing is missing for {count_words(n, 'instance')}" if n and not blocked else ready if n else "this gold has no instance"
    print(f"done: {ready}")
    return EXIT_OK


def keys_new(
    file: Annotated[Path, Argument(help="the private key to write; the public key is written next to it, with the ending .pub")] = Path(
        "evalsuite_key"
    ),
) -> int:
    """Make a key pair (Ed25519, OpenSSH files): `run --sign FILE` signs a run, `verify RUN --key FILE.pub` verifies it."""
    from evalsuite.runs.run_folder import new_key

    public = new_key(file)
    print(f"wrote the private key {file} (keep it secret) and the public key {public} (it verifies your runs)")
    return EXIT_OK


def keys_show(file: Annotated[Path, Argument(help="a private key")]) -> int:
    """Print the public key of a private key: the line of its .pub file."""
    from evalsuite.runs.run_folder import public_text, read_key

    print(public_text(read_key(file).public_key()))
    return EXIT_OK


keys_commands = opt.Group.from_class(keys_new, keys_show)


JudgeGold = Annotated[
    Path,
    Option("--gold", "--gold-dir", help="the gold folder with the judge settings, if --judge is not given", metavar="DIR"),
]
JsonToo = Annotated[bool, Option("--json", help="print one JSON object and nothing else")]
_LONGEST = 2_000


def judge_test(judge: opt.JudgeFile = None, gold: JudgeGold = Path("gold"), json_: JsonToo = False) -> int:
    """Ask each model one question and show the requests, duration, parsed reply and cost; exit 4 if one fails."""
    settings = _settings(judge, gold)
    replies = [_try_model(settings, model) for model in settings.all_models]
    if json_:
        print(json.dumps(replies[0] if len(replies) == 1 else replies, indent=2))
    else:
        for trial in replies:
            _show_try(trial)
    failed = [trial["model"] for trial in replies if trial["fault"]]
    if not json_:
        print(clean(f"failed: {', '.join(failed)}" if failed else f"done: {', '.join(settings.all_models)} can judge"))
    return EXIT_UNSCORABLE if failed else EXIT_OK


def _settings(judge: Path | None, gold: Path) -> "Settings":
    """Return the judge settings. Raises `UsageError` if there are none, or no model."""
    from evalsuite.gold.suite_yaml import judge_of
    from evalsuite.scorers.judge.settings import read_settings

    settings = read_settings(judge_of(judge, gold), folder=gold)
    if not settings.all_models:
        raise UsageError("judge.model is not set", hint="model: NAME in judge.yaml, or below `judge:` in suite.yaml")
    return settings


def _try_model(settings: "Settings", model: str) -> dict[str, Any]:
    """Ask one model who wrote Faust; return its reply with all traffic."""
    from evalsuite.scorers import SCORERS
    from evalsuite.scorers.judge import Judge

    # Without cached replies, because these do not test the endpoint.
    judge = Judge(replace(settings, model=model, models=(), cache="", cassette="", repeats=1))
    exchanges: list[Exchange] = []
    judge.client.endpoint.on_exchange = exchanges.append
    trial: dict[str, Any] = {"model": model, "score": None, "reads": "", "fault": ""}
    try:
        score = SCORERS.load("llm_judge").function("It was Goethe", judge, question="Who wrote Faust?", gold="Johann Wolfgang von Goethe")
        trial |= {"score": score.official, "reads": score.reason, "fault": describe(score.fault) if score.fault else ""}
    except FaultError as error:
        trial["fault"] = describe(error.fault)
    rows = [
        {"address": x.address, "headers": dict(x.headers), "body": dict(x.body), "status": x.status}
        | {"seconds": round(x.seconds, 3), "said": x.text[:_LONGEST]}
        for x in exchanges
    ]
    return trial | judge.account.to_json() | {"exchanges": rows}


def _show_try(reply: dict[str, Any]) -> None:
    for exchange in reply["exchanges"]:
        print(clean(f"POST {exchange['address']}"))
        for name, value in exchange["headers"].items():
            print(clean(f"  {name}: {value}"))
        for line in json.dumps(exchange["body"], indent=2, ensure_ascii=False).splitlines():
            print(clean(f"  {line}"))
        status = f"HTTP {exchange['status']}" if exchange["status"] else "no whole reply"
        print(f"{status} after {exchange['seconds']:.2f} s")
        for line in exchange["said"].splitlines() or [""]:
            print(clean(f"  {line}"))
    price = "no price is set" if reply["cost"] is None else f"cost {reply['cost']:.4g}"
    print(clean(f"tokens  {reply['prompt_tokens']} + {reply['completion_tokens']}, {price}"))
    if reply.get("served"):
        print(clean(f"served  {', '.join(reply['served'])}"))
    print(clean(f"failed  {reply['fault']}" if reply["fault"] else f"reads   {reply['score']:.4g}: {reply['reads']}"))


def judge_probe(judge: opt.JudgeFile = None, gold: JudgeGold = Path("gold"), json_: JsonToo = False) -> int:
    """Ask each model some 300 questions with known verdicts: measure its biases, and whether it repeats its verdicts.

    Later runs with the same judge show these biases next to its scores.
    """
    from evalsuite.scorers.judge import Judge
    from evalsuite.scorers.judge.probe import NAMES, Lean, keep_probe, probe

    settings = _settings(judge, gold)
    reports: dict[str, Any] = {}
    for model in settings.all_models:
        report = replace(settings, model=model, models=())
        single_judge = Judge(replace(report, cache="", cassette="", repeats=1))
        try:
            behaviour = probe(single_judge)
        except FaultError as error:
            reports[model] = {"fault": describe(error.fault)}
            continue
        path = keep_probe(report, behaviour)
        reports[model] = asdict(behaviour) | {"account": single_judge.account.to_json(), "kept": str(path) if path else None}
    if json_:
        print(json.dumps(reports, indent=2))
    for model, report in () if json_ else reports.items():
        print(clean(model if "fault" not in report else f"{model}  failed: {report['fault']}"))
        for name in NAMES if "fault" not in report else ():
            lean = Lean(**report[name])
            width = 1.96 * lean.standard_error
            print(f"  {name.replace('_', ' '):<16}{lean.points:+7.1f} ± {width:4.1f}   n {lean.n}, {lean.n_silent} silent")
    failed = [model for model, report in reports.items() if "fault" in report]
    if not json_:
        print(clean(f"failed: {', '.join(failed)}" if failed else f"done: {count_words(len(reports), 'model')} probed"))
    return EXIT_UNSCORABLE if failed else EXIT_OK


judge_commands = opt.Group.from_class(judge_test, judge_probe)
