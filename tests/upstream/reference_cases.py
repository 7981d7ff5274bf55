"""Made cases for the references' comparison functions, a few for each rule that a reference may change: gold, answer and parameters.

Nothing of a benchmark's data: columns of random numbers, texts and dates, in which one thing is changed, the thing that the rule names.
"""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.compare.official_cells import RESULT_SUITES, Reference
from evalsuite.core.types import METADATA
from tests.upstream.grids import EDITS, WORDS, Edited, Grid, random_column, random_grid, shuffled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EVERY: Final[tuple[Reference, ...]] = ("original", "lite", "snow", "dbt")
# Those with five functions; the others compare tables alone.
OF_FIVE: Final = tuple(name for name in EVERY if name not in RESULT_SUITES)
OF_TABLES: Final = tuple(name for name in EVERY if name in RESULT_SUITES)
SPEC: Final = "made_eval.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answer beside its gold: a text, or tables by file name (in a database by name of the table); the references that it is for."""

    id: str
    function: str
    rule: str
    references: tuple[Reference, ...]
    parameters: Mapping[str, Any]
    gold: Mapping[str, Grid]
    answer: str | Mapping[str, Grid]

    def shown(self) -> dict[str, Any]:
        """What a person needs to ask either side again."""
        return {"id": self.id, "parameters": dict(self.parameters), "gold": dict(self.gold), "answer": self.answer}


def made_cases(seed: int, n: int) -> Iterator[Case]:
    """`n` cases for each rule, the same for the same seed."""
    for function, rules in _RULES.items():
        for rule, (references, make) in rules.items():
            rng = random.Random(f"{seed} {function} {rule}")
            for i in range(n):
                gold, answer, parameters = make(rng)
                id_ = f"{function}-{rule}-{i}".translate(_IN_NAMES)
                yield Case(id=id_, function=function, rule=rule, references=references, parameters=parameters, gold=gold, answer=answer)


def write_cases(cases: Iterable[Case], folder: Path) -> None:
    """Write cases as a gold folder and a submission, `gold` and `submission` below `folder`."""
    import duckdb

    connection = duckdb.connect()
    specs, handed_in = [], []
    for case in cases:
        places = [folder / side / case.id for side in ("gold", "submission")]
        for place in places:
            place.mkdir(parents=True)
        specs.append({"instance_id": case.id, "evaluation": {"func": case.function, "parameters": case.parameters}})
        kind: str = "answer"
        value: Any = case.answer
        if case.function == "duckdb_match":
            kind, value = "file", "r.duckdb"
            for tables, file in ((case.gold, places[0] / "g.duckdb"), (case.answer, places[1] / value)):
                assert not isinstance(tables, str)
                _write_database(connection, tables, file)
        elif not isinstance(case.answer, str):
            kind, value = ("files", list(case.answer)) if case.function == "tables_match" else ("file", next(iter(case.answer)))
            _write_tables(case.gold, places[0])
            _write_tables(case.answer, places[1])
        handed_in.append({"instance_id": case.id, "answer_type": kind, "answer_or_path": value})
    connection.close()
    for name, rows in ((f"gold/{SPEC}", specs), (f"submission/{METADATA}", handed_in)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_tables(tables: Mapping[str, Grid], folder: Path) -> None:
    for name, grid in tables.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"c{i}" for i in range(len(grid))])
            writer.writerows(zip(*grid, strict=True))


def _write_database(connection: "DuckDBPyConnection", tables: Mapping[str, Grid], file: Path) -> None:
    """Write tables into a new file, through a connection that stays open: to open one for each file costs three times as much."""
    quoted = str(file).replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS made")
    connection.execute("BEGIN")
    for name, grid in tables.items():
        kinds = [{type(cell) for cell in column if cell is not None} for column in grid]
        types = [next((word for known, word in _TYPES.items() if known >= kind), "VARCHAR") for kind in kinds]
        connection.execute(f"CREATE TABLE made.{name} ({', '.join(f'c{i} {word}' for i, word in enumerate(types))})")
        columns = [
            [cell if word != "VARCHAR" or cell is None else str(cell) for cell in column] for column, word in zip(grid, types, strict=True)
        ]
        values = ", ".join(f"({', '.join('?' * len(grid))})" for _ in grid[0])
        connection.execute(f"INSERT INTO made.{name} VALUES {values}", [cell for row in zip(*columns, strict=True) for cell in row])
    connection.execute("COMMIT")
    connection.execute("DETACH made")


_TYPES: Final = {frozenset({bool}): "BOOLEAN", frozenset({int}): "BIGINT", frozenset({int, float}): "DOUBLE"}
_IN_NAMES: Final = str.maketrans(dict.fromkeys(" ,.'", "-"))


Made = tuple[Mapping[str, Grid], str | Mapping[str, Grid], dict[str, Any]]  # gold, the answer, parameters
Maker = Callable[[random.Random], Made]


def _one_table(edit: Callable[[random.Random], Edited]) -> Maker:
    def make(rng: random.Random) -> Made:
        gold, answer, parameters = edit(rng)
        return {"g.csv": gold}, {"r.csv": answer}, {"gold": "g.csv", **parameters}

    return make


def _of_two(edit: Callable[[random.Random], Edited], names: tuple[str, str], file: str) -> Maker:
    """The edit in one of two tables of these names, in a database where there is a `file`."""

    def make(rng: random.Random) -> Made:
        gold, answer, parameters = edit(rng)
        other, first = random_grid(rng), rng.random() < 0.5
        golds, answers = ([gold, other], [answer, other]) if first else ([other, gold], [other, answer])
        more: dict[str, Any] = {"gold": file or list(names)}
        if "ignore_order" in parameters:
            more["ignore_orders"] = [parameters["ignore_order"]] * 2
        return dict(zip(names, golds, strict=True)), dict(zip(names, answers, strict=True)), more

    return make


def _columns_asked(choose: Callable[[random.Random, int], Any]) -> Maker:
    """One column of the answer is changed, and `condition_cols` is what `choose` says of so many columns."""

    def make(rng: random.Random) -> Made:
        grid = random_grid(rng)
        answer = [list(column) for column in grid]
        answer[rng.randrange(len(grid))] = random_column(rng, len(grid[0]))
        order = {"ignore_order": True} if rng.random() < 0.3 else {}
        return {"g.csv": grid}, {"r.csv": answer}, {"gold": "g.csv", "condition_cols": choose(rng, len(grid)), **order}

    return make


def _some(rng: random.Random, n: int) -> list[int]:
    return rng.sample(range(n), rng.randint(1, n))


def _odd(rng: random.Random, n: int) -> Any:
    return rng.choice(([], [-1], [0, 0], [n], [-n - 1], [0, -1], [n - 1, 0]))


def _bare(rng: random.Random, n: int) -> int:
    return rng.choice((0, 0, 1, n - 1, -1, n))


def _several(choose: Callable[[random.Random, int], Any], n_golds: int = 3) -> Maker:
    """The answer is one of some golds, or none of them but for a column; `condition_cols` is what `choose` says, nothing where None."""

    def make(rng: random.Random) -> Made:
        golds = [random_grid(rng) for _ in range(rng.randint(min(2, n_golds), n_golds))]
        answer = [list(column) for column in rng.choice(golds)]
        if rng.random() < 0.6:
            answer[rng.randrange(len(answer))] = random_column(rng, len(answer[0]))
        names = [f"g{i}.csv" for i in range(len(golds))]
        asked = choose(rng, len(golds))
        more = {} if asked is None else {"condition_cols": asked}
        return dict(zip(names, golds, strict=True)), {"r.csv": answer}, {"gold": names, **more}

    return make


def _order_in_a_list(rng: random.Random) -> Made:
    golds, answer, parameters = _several(lambda *_: None)(rng)
    assert not isinstance(answer, str)
    moved = {name: [shuffled(rng, column) for column in grid] for name, grid in answer.items()}
    return golds, moved, {**parameters, "ignore_order": rng.choice(([False] * len(golds), [True] * len(golds), []))}


def _other_tables(names: tuple[str, str], file: str) -> Maker:
    """Two tables of which the answer has one, or both the other way round, or more; of a database perhaps some are asked for."""

    def make(rng: random.Random) -> Made:
        grids = [random_grid(rng), random_grid(rng)]
        gold = dict(zip(names, grids, strict=True))
        handed = [dict(zip(names, reversed(grids), strict=True)), {names[0]: grids[0]}, {**gold, f"x{names[0]}": grids[1]}, gold]
        more: dict[str, Any] = {"gold": file or list(names)}
        if file and rng.random() < 0.5:
            more["condition_tabs"] = rng.choice((list(names), [names[0]], [names[1]], [names[0].upper()]))
        elif rng.random() < 0.5:
            more["condition_cols"] = rng.choice(([[], []], [[0], []], [[0], [0]], [[0]], [[len(grids[0])], []]))
        return gold, rng.choice(handed), more

    return make


def _columns_of_each(names: tuple[str, str], file: str) -> Maker:
    """Columns of two tables of which some are not there, counted from either end, and perhaps lists for one of them alone."""

    def make(rng: random.Random) -> Made:
        grids = [random_grid(rng), random_grid(rng)]
        answers = [[list(column) for column in grid] for grid in grids]
        changed = rng.choice(answers)
        changed[rng.randrange(len(changed))] = random_column(rng, len(changed[0]))
        asked = [rng.choice(([], [-len(grid)], [-1, 0], [len(grid) - 1], [len(grid)], [-len(grid) - 1])) for grid in grids]
        more: dict[str, Any] = {"gold": file or list(names), "condition_cols": asked}
        if file:
            more["condition_tabs"] = list(names)
        return dict(zip(names, grids, strict=True)), dict(zip(names, answers, strict=True)), more

    return make


def _too_large(rng: random.Random) -> Made:
    """A column of integers that no int64, or no float, holds, in one of two golds; the answer is one of them, perhaps but for a cell."""
    golds = [random_grid(rng), random_grid(rng)]
    grid = rng.choice(golds)
    grid[rng.randrange(len(grid))] = [rng.choice((1, -1)) * 10 ** rng.choice((18, 19, 20, 308, 309, 400)) for _ in grid[0]]
    answer = [list(column) for column in rng.choice(golds)]
    if rng.random() < 0.4:
        answer[rng.randrange(len(answer))][0] = rng.choice((7, 10**400, "x"))
    names = ["g0.csv", "g1.csv"]
    return dict(zip(names, golds, strict=True)), {"r.csv": answer}, {"gold": names, "ignore_order": rng.random() < 0.3}


def _text(rng: random.Random) -> Made:
    golds = rng.sample(WORDS, rng.randint(1, 3))
    said = [rng.choice((word, word.upper(), word[:-1], f"x{word}y")) for word in rng.sample((*golds, *golds, *WORDS), rng.randint(1, 4))]
    parameters: dict[str, Any] = {"gold": golds[0] if len(golds) == 1 and rng.random() < 0.5 else golds}
    if rng.random() < 0.5:
        parameters["conj"] = rng.choice(("and", "or"))
    if rng.random() < 0.4:
        parameters["exclude"] = rng.sample(WORDS, rng.randint(1, 2))
    return {}, rng.choice((" ", ", ", "\n")).join(said), parameters


def _number(pieces: Callable[[random.Random, float], str]) -> Maker:
    """Golds, and an answer with what `pieces` makes of some of them."""

    def make(rng: random.Random) -> Made:
        golds = [round(rng.uniform(0, 5000), rng.randint(0, 4)) for _ in range(rng.randint(1, 3))]
        said = [pieces(rng, gold) for gold in rng.sample(golds, rng.randint(1, len(golds)))]
        parameters: dict[str, Any] = {"gold": rng.choice((golds, [f"{gold:,}" for gold in golds])) if len(golds) > 1 else golds[0]}
        if rng.random() < 0.4:
            parameters["conj"] = rng.choice(("and", "or"))
        if rng.random() < 0.3:
            parameters["percentage"] = True
        if rng.random() < 0.3:
            parameters["precision"] = rng.randint(0, 5)
        return {}, rng.choice(("{}", "about {}.", "it is {} in all", "({})", "v1.2 {}")).format(" and ".join(said)), parameters

    return make


def _thousands(rng: random.Random, gold: float) -> str:
    return rng.choice((f"{gold:,}", f"{gold:,}%", f"-{gold}", f"${gold:,.2f}", f"{gold}km", f"{gold:e}", f"{gold / 100:.6f}"))


_CSVS, _NAMES = ("g0.csv", "g1.csv"), ("orders", "items")
# The rules of each function by name: the references that have them, and what makes a case.
_RULES: Final[dict[str, dict[str, tuple[tuple[Reference, ...], Maker]]]] = {
    "table_match": {
        **{name: (EVERY, _one_table(edit)) for name, edit in EDITS.items()},
        "condition_cols": (EVERY, _columns_asked(_some)),
        "condition_cols, odd ones": (EVERY, _columns_asked(_odd)),
        "condition_cols, a number by itself": (EVERY, _columns_asked(_bare)),
        "several golds, condition_cols a number": (EVERY, _several(lambda rng, _: rng.choice((0, 1)))),
        "several golds": (EVERY, _several(lambda *_: None)),
        "several golds, condition_cols of each": (
            EVERY,
            _several(lambda rng, n: [rng.choice(([], [0])) for _ in range(n - (rng.random() < 0.2))]),
        ),
        "several golds, one condition_cols": (OF_TABLES, _several(lambda rng, _: rng.choice(([0], [0, 1])))),
        "one gold in a list": (EVERY, _several(lambda rng, _: rng.choice((None, [], [[]], [[0]])), 1)),
        "one gold in a list, condition_cols flat": (OF_TABLES, _several(lambda rng, _: rng.choice(([0], [1, 0])), 1)),
        "ignore_order in a list": (EVERY, _order_in_a_list),
        "integers too large": (EVERY, _too_large),
    },
    "tables_match": {
        **{name: (OF_FIVE, _of_two(edit, _CSVS, "")) for name, edit in EDITS.items()},
        "which tables": (OF_FIVE, _other_tables(_CSVS, "")),
        "condition_cols of each, odd ones": (OF_FIVE, _columns_of_each(_CSVS, "")),
    },
    "duckdb_match": {
        **{name: (OF_FIVE, _of_two(edit, _NAMES, "g.duckdb")) for name, edit in EDITS.items()},
        "which tables": (OF_FIVE, _other_tables(_NAMES, "g.duckdb")),
        "condition_cols of each, odd ones": (OF_FIVE, _columns_of_each(_NAMES, "g.duckdb")),
    },
    "string_match": {"texts": (OF_FIVE, _text)},
    "number_match": {
        "numbers in words": (OF_FIVE, _number(lambda rng, gold: rng.choice((str(gold), f"{gold} or {gold + 1}")))),
        "nearly": (OF_FIVE, _number(lambda rng, gold: f"{gold + rng.choice((0, 9e-5, 1.1e-4, 0.01, 0.5)):.6f}")),
        "forms of numbers": (OF_FIVE, _number(_thousands)),
    },
}
