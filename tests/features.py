"""What a user can write or read, and how a copy of the project makes each of it ineffective: for `python -m tests.mutation --options`.

An option has the value that it has where it is not given, a parameter of a scorer too; a key of suite.yaml is left out; in place of a fault
code there is the next one, in place of an exit code another one.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from evalsuite.cli.commands import COMMANDS, plain_name
from evalsuite.cli.parser import leaves, load_command
from evalsuite.core import errors
from evalsuite.core.errors import FAULTS
from evalsuite.core.registry import NO_DEFAULT
from evalsuite.gold.suite_yaml import _FIELDS
from evalsuite.scorers import SCORERS

EXIT_CODES = sorted({value for name, value in vars(errors).items() if name.startswith("EXIT_")})


# What no test could notice, and why.
UNNOTICED = dict.fromkeys(
    ("parameter hedging_language gold", "parameter readability gold", "parameter specificity gold"),
    "a metric without a reference reads no gold",
)


def features() -> list[str]:
    """All names: `option run --jobs`, `parameter bleu tokenize`, `key limits`, `fault BAD_CSV`, `exit 4`."""
    names = [f"option {name}" for command in COMMANDS for name in _options(command)]
    for scorer in SCORERS.bundled:
        parameters = SCORERS.load(scorer).parameters.items()
        names += [f"parameter {scorer} {name}" for name, parameter in parameters if parameter.default is not NO_DEFAULT]
    names += [f"key {key}" for key in [*_FIELDS, "scorers"]]
    names += [f"fault {code}" for code in FAULTS]
    return list(dict.fromkeys([*names, *(f"exit {code}" for code in EXIT_CODES)]))


def _options(command: str) -> Iterator[str]:
    for name, leaf in leaves(load_command(command), command):
        # The command of the same name outside the group is the same.
        for option in leaf.params if name == plain_name(name) else ():
            for spellings in (option.opts, option.secondary_opts):
                if spellings and spellings[0].startswith("-"):
                    yield f"{name} {'|'.join(spellings)}"


# What is added to modules of the copy.
_ADDED = {
    "evalsuite/core/registry.py": """
from _switch import is_off as _is_off

def _effective(name, parameters):
    return {key: value for key, value in parameters.items() if not _is_off(f"parameter {name} {key}")}

_score, _scorer = Scorer.score, scorer
Scorer.score = lambda self, *arguments, **parameters: _score(self, *arguments, **_effective(self.name, parameters))

def scorer(**options):
    def mark(function):
        import functools

        @functools.wraps(function)
        def call(*arguments, **parameters):
            return function(*arguments, **_effective(function.__name__, parameters))

        return _scorer(**options)(call if function.__module__.startswith("evalsuite.scorers.") else function)

    return mark
""",
    "evalsuite/scorers/metrics/__init__.py": """
from _switch import is_off as _is_off

_get_metric = get_metric

def get_metric(name, /, **options):
    return _get_metric(name, **{key: value for key, value in options.items() if not _is_off(f"parameter {name} {key}")})
""",
    "evalsuite/scorers/metrics/scorer.py": """
import functools
from _switch import is_off as _is_off

_plain_scorer_of = _scorer_of

def _scorer_of(make, kind, *rest):
    function = _plain_scorer_of(make, kind, *rest)

    @functools.wraps(function)
    def call(*arguments, **parameters):
        return function(*arguments, **{key: value for key, value in parameters.items() if not _is_off(f"parameter {kind.name} {key}")})

    return call
""",
    "evalsuite/gold/suite_yaml.py": """
from _switch import is_off as _is_off

_top_level = top_level

def top_level(file, where):
    return (row for row in _top_level(file, where) if file.name != SUITE_FILE or not _is_off(f"key {row[0]}"))
""",
    "evalsuite/readers/csv_dialect.py": """
from _switch import is_off as _is_off

_dialect_of = Dialect.from_parameters

def _from_parameters(parameters):
    off = {key for key in parameters for name in ("table_match", "tables_match") if _is_off(f"parameter {name} {key}")}
    return _dialect_of({key: value for key, value in parameters.items() if key not in off})

Dialect.from_parameters = staticmethod(_from_parameters)
""",
    "evalsuite/cli/gate.py": """
from _switch import is_off as _is_off

_run_command_line = run_command_line
_quick_call = lambda arguments: None

def run_command_line(arguments, *, ends_process):
    code = _run_command_line(arguments, ends_process=ends_process)
    return (2 if code == 1 else 1) if _is_off(f"exit {code}") else code
""",
    "evalsuite/cli/prediction.py": """
quick_check = lambda words: None
""",
    "evalsuite/cli/parser.py": """
from _switch import is_off as _is_off

_parse_args = HelpCommand.parse_args

def parse_args(self, ctx, args):
    rest = _parse_args(self, ctx, args)
    command = plain_name(ctx.command_path.removeprefix("evalsuite "))
    for option in self.params:
        source = ctx.get_parameter_source(option.name)
        if not _is_option(option) or source is None or source.name != "COMMANDLINE":
            continue
        is_second = option.secondary_opts and not ctx.params[option.name]
        if _is_off(f"option {command} {'|'.join(option.secondary_opts if is_second else option.opts)}"):
            value, _ = option.consume_value(ctx, {})
            ctx.params[option.name] = option.type_cast_value(ctx, value)
    return rest

HelpCommand.parse_args = parse_args
""",
}
# What is added to the module `_switch`.
SWITCH_BY_NAME = """
NUMBERS = {numbers}
NEXT_CODE = {next_code}

def is_off(name):
    return name in NUMBERS and is_on(NUMBERS[name])

def fault_code(code):
    return NEXT_CODE[code] if is_off("fault " + code) else code
"""


def make_switchable(names: list[str]) -> None:
    """Change the copy of the project in the working folder."""
    codes = [*FAULTS]
    text = SWITCH_BY_NAME.format(
        numbers={name: number for number, name in enumerate(names)}, next_code=dict(zip(codes, [*codes[1:], codes[0]], strict=True))
    )
    with Path("_switch.py").open("a", encoding="utf-8") as file:
        file.write(text)
    for path in Path("evalsuite").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if any(f'"{code}"' in source for code in FAULTS):
            tree = _FaultCodes().visit(ast.parse(source))
            begin = next(at for at, node in enumerate(tree.body) if at or not isinstance(node, ast.Expr))
            tree.body[begin:begin] = ast.parse("from _switch import fault_code as _fault_code_").body
            source = ast.unparse(ast.fix_missing_locations(tree))
        path.write_text(source + _ADDED.get(str(path), ""), encoding="utf-8")


class _FaultCodes(ast.NodeTransformer):
    """Codes that are arguments, results or assigned go through `fault_code`; those that are compared or keys stay."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Compare | ast.Dict | ast.Set | ast.Tuple | ast.Match | ast.AnnAssign | ast.JoinedStr):
            return node
        if isinstance(node, ast.Constant) and node.value in FAULTS:
            return ast.Call(ast.Name("_fault_code_", ast.Load()), [node], [])
        return self.generic_visit(node)


class Features:
    """A plugin of pytest that makes one feature after the other ineffective, and looks in forks for a test that notices it.

    Tried are the test that noticed it last (`NOTICED_BY`), the shortest tests of which the text names it, then those that reach it,
    of the modules that name it, the quickest first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.noticed_by: dict[str, str] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of pytest's own loop."""
        from tests.command_server import command_server

        # One for all forks: what is on is in the file.
        command_server()
        functions: dict[str, list[Any]] = {}
        for item in session.items:
            functions.setdefault(_function_of(item), []).append(item)
        known = noticed_by()
        for number, name in enumerate(self._names):
            self._look(name, number, functions.get(known.get(name, ""), []))
        for number, name in enumerate(self._names):
            self._look(name, number, _tests_that_name(name, session.items)[0][:N_TRIED])
        if rest := {name: number for number, name in enumerate(self._names) if name not in self.noticed_by and name not in UNNOTICED}:
            self._look_where_it_is_reached(rest, session.items)
        for kind in dict.fromkeys(name.split()[0] for name in self._names):
            names = [name for name in self._names if name.startswith(f"{kind} ")]
            n_equal = sum(name in UNNOTICED for name in names)
            print(f"{kind}: {sum(name in self.noticed_by for name in names)} of {len(names)} noticed, {n_equal} equivalent", flush=True)
        return True

    def _look(self, name: str, number: int, items: Sequence[Any]) -> None:
        """Note the first test that fails without the feature, and only then."""
        from tests.mutation import _in_fork, _run

        while items and name not in self.noticed_by and _in_fork(partial(_run, items, number), Path("log.txt")) == 1:
            failed = Path("failed.txt").read_text()
            at = next(at for at, item in enumerate(items) if item.nodeid == failed)
            # A test that fails in the copy anyway says nothing.
            if _in_fork(partial(_run, [items[at]], -1), Path("log.txt")) == 0:
                self.noticed_by[name] = _function_of(items[at])
            items = items[at + 1 :]

    def _look_where_it_is_reached(self, numbers: dict[str, int], all_items: Sequence[Any]) -> None:
        """Look among all tests of the modules that name each feature, and print those that no test notices."""
        from tests.mutation import _in_fork, _note

        naming = {name: {item.nodeid for part in _tests_that_name(name, all_items) for item in part} for name in numbers}
        items = {item.nodeid: item for item in all_items if any(item.nodeid in tests for tests in naming.values())}
        _in_fork(lambda: _note([*items.values()], Path("reached.json"), 7200), Path("log.txt"), 7200, 7200)
        seconds, reached, *_ = json.loads(Path("reached.json").read_text())
        quick = sorted(reached, key=seconds.__getitem__)
        for name, number in numbers.items():
            reaching = [items[one] for one in quick if number in reached[one]]
            # On a busy machine the test that is known to notice it may have had no end.
            known = [item for item in all_items if _function_of(item) == noticed_by().get(name)]
            self._look(name, number, [*reaching[: 4 * N_TRIED], *known])
            if name not in self.noticed_by:
                print(f"  UNNOTICED {name}: {len(naming[name])} tests are in modules that name it, {len(reaching)} reach it", flush=True)


N_TRIED = 24
# {test: features that it notices}, one test for each feature; "" for those of which it is not known yet.
NOTICED_BY = Path(__file__).resolve().parent / "data/noticed_by.json"


def noticed_by() -> dict[str, str]:
    """The test that noticed each feature when `python -m tests.mutation --options` last looked, or an empty text."""
    return {feature: test for test, features in json.loads(NOTICED_BY.read_text()).items() for feature in features}


def record(names: Sequence[str], tests: dict[str, str]) -> None:
    """Write which test notices each of some features; those that are no more are left out."""
    all_ = {name: test for name, test in noticed_by().items() if name not in names} | tests
    by_test: dict[str, list[str]] = {}
    for name in features():
        if name in all_:
            by_test.setdefault(all_[name], []).append(name)
    NOTICED_BY.write_text(json.dumps(dict(sorted(by_test.items())), indent=1) + "\n")


def _function_of(item: Any) -> str:
    return str(item.nodeid.partition("[")[0])


@cache
def _source(part: Any) -> str:
    return inspect.getsource(part)


@cache
def _text_of(item: Any) -> str:
    parameters = repr(item.callspec.params) if hasattr(item, "callspec") else ""
    return f"{item.nodeid}\n{_source(item.function)}\n{parameters}"


def _tests_that_name(name: str, items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Those of which the text names a feature and its command or scorer, short ones first; the others of modules that do."""
    kind, *words = name.split()
    word, context = words[-1], words[-2] if len(words) > 1 else "suite.yaml" * (kind == "key")
    pattern = re.compile(rf"""["']{word}["']|\b{word}[=:]""" if kind in ("parameter", "key") else rf"(?<![\w-])(?:{word})\b")
    if kind == "exit":
        pattern = re.compile(rf"== {word}\b|code={word}\b|returncode, .*\({word}\b")
    near, far = [], []
    for module, of_module in _by_module(tuple(items)).items():
        if kind == "parameter" and not of_module[0].nodeid.startswith(OF_SCORERS):
            continue
        is_named = _names(_source(module), word, pattern, context)
        # The cases of a test may be in another module.
        if is_named or _names(_cases_of(module, of_module), word, pattern, context):
            texts = {item: _names(_text_of(item), word, pattern, context) for item in of_module}
            near += [item for item, names in texts.items() if names]
            far += [item for item, names in texts.items() if is_named and not names]
    return sorted(near, key=lambda item: len(_text_of(item))), far


@cache
def _by_module(items: tuple[Any, ...]) -> dict[Any, tuple[Any, ...]]:
    """The tests of each module."""
    modules: dict[Any, list[Any]] = {}
    for item in items:
        modules.setdefault(item.module, []).append(item)
    return {module: tuple(of_module) for module, of_module in modules.items()}


@cache
def _cases_of(module: Any, items: tuple[Any, ...]) -> str:
    """The names and the parameters of a module's tests."""
    return "".join(_text_of(item) for item in items if hasattr(item, "callspec"))


OF_SCORERS = tuple(f"tests/{name}/" for name in ("cli", "compare", "readers", "scorers", "suites", "trees"))


def _names(text: str, word: str, pattern: re.Pattern[str], context: str) -> bool:
    return context in text and any(part in text for part in word.split("|")) and pattern.search(text) is not None
