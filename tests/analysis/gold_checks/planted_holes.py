"""Sixty specs with one hole each, and the name that the audit must give it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLE = "name,total,orders,share\na,1512.25,400,0.125\nb,1600.75,5000001,0.25\nc,1701.01,700,0.5\nd,1893.4,800,0.75\n"
RANKED = "name,total\na,9000.5\nb,8000.25\nc,7000.125\nd,6000.75\n"
RECORD = {
    "vendor": "Acme Corporation",
    "total": 1250.75,
    "n": 12,
    "paid": True,
    "day": "2024-05-17",
    "lines": [{"sku": "lamp", "qty": 3}, {"sku": "desk", "qty": 7}],
}


@dataclass(frozen=True)
class Hole:
    """A check whose spec is too lenient, kinds of wrong answers of which it takes at least one, and under which rule."""

    scorer: str
    parameters: dict[str, Any]
    kinds: frozenset[str]
    rule: str = "strict"
    table: str = ""
    others: tuple[str, ...] = field(default=())


def planted_holes() -> Iterator[Hole]:
    """The holes, by scorer."""
    yield from _tables()
    yield from _official_tables()
    yield from _trees()
    yield from _texts()


def _tables() -> Iterator[Hole]:
    small, one = frozenset({"last digit", "one row short in a sum"}), frozenset({"plus one", "off by one"})
    for free in (False, True):
        for tolerance in (1e-3, 0.01, 0.05):
            yield Hole("table_match", {"rel_tol": tolerance, "ignore_order": free}, small, table=TABLE)
        for tolerance in (1, 5):
            yield Hole("table_match", {"abs_tol": tolerance, "ignore_order": free}, one, table=TABLE)
        yield Hole("table_match", {"rel_tol": 1e-6, "ignore_order": free}, frozenset({"plus one"}), table=TABLE)
        yield Hole("table_match", {"abs_tol": 0.002, "ignore_order": free}, frozenset({"last digit"}), table=TABLE)
        yield Hole("table_match", {"rel_tol": {"total": 0.01}, "ignore_order": free}, small, table=TABLE)
        yield Hole("table_match", {"abs_tol": {"orders": 2}, "ignore_order": free}, one, table=TABLE)
        yield Hole("table_match", {"labels": "ignore", "ignore_order": free}, frozenset({"labels exchanged"}), table=TABLE)
    yield Hole("table_match", {"rel_tol": 0.01, "condition_cols": [1]}, small, table=TABLE)
    yield Hole("table_match", {"abs_tol": 1, "condition_cols": [2]}, one, table=TABLE)
    yield Hole("table_match", {"rel_tol": 0.002, "labels": "ignore"}, frozenset({"labels exchanged", "last digit"}), table=TABLE)


def _official_tables() -> Iterator[Hole]:
    for rest in ({}, {"condition_cols": [0, 1]}, {"condition_cols": [0, 2]}):
        yield Hole("table_match", {"ignore_order": True, **rest}, frozenset({"rows scrambled"}), "official", TABLE)
    yield Hole("table_match", {"ignore_order": False}, frozenset({"last digit"}), "official", RANKED)
    yield Hole("table_match", {}, frozenset({"labels exchanged"}), "official", TABLE)
    yield Hole("number_match", {"gold": 45}, frozenset({"sign"}), "official")
    yield Hole("string_match", {"gold": "Bergen"}, frozenset({"inside a word"}), "official")
    yield Hole("string_match", {"gold": ["Paris", "Rome"], "conj": "and"}, frozenset({"inside a word"}), "official")


def _schema(**changed: dict[str, Any]) -> dict[str, Any]:
    compared = {"total": "numeric", "n": "numeric"}
    kinds = {"vendor": "string", "total": "number", "n": "integer", "paid": "boolean", "day": "string"}
    properties: dict[str, Any] = {name: {"type": kind, "x-eval-compare": compared.get(name, "exact")} for name, kind in kinds.items()}
    item = {"sku": {"type": "string", "x-eval-compare": "exact"}, "qty": {"type": "integer", "x-eval-compare": "numeric"}}
    properties["lines"] = {"type": "array", "items": {"type": "object", "properties": item}}
    for name, keys in changed.items():
        at = properties["lines"]["items"]["properties"] if name in item else properties
        at[name] = {**at[name], **keys}
    return {"type": "object", "properties": properties}


def _trees() -> Iterator[Hole]:
    digit, one = frozenset({"last digit"}), frozenset({"plus one"})
    for tolerance in ({"rel": 0.01}, {"rel": 1e-4}, {"abs": 0.01}, {"abs": 1}, {"rel": 0.1, "abs": 0.1}):
        yield Hole("tree_match", {"schema": _schema(total={"x-eval-compare": {"numeric": {"tolerance": tolerance}}})}, digit)
    for name in ("n", "qty"):
        for size in (1, 2):
            yield Hole("tree_match", {"schema": _schema(**{name: {"x-eval-compare": {"numeric": {"tolerance": {"abs": size}}}}})}, one)
    letter = frozenset({"one letter"})
    for name, least in (("vendor", 0.9), ("vendor", 0.8), ("sku", 0.7)):
        keys = {"x-eval-compare": "edit_distance", "x-eval-threshold": least}
        yield Hole("tree_match", {"schema": _schema(**{name: keys})}, letter)
    for days in (1, 3, 30):
        yield Hole("tree_match", {"schema": _schema(day={"x-eval-compare": {"date": {"days": days}}})}, frozenset({"off by one day"}))
    for name, kind in (("vendor", "one letter"), ("total", "last digit"), ("n", "plus one"), ("paid", "inverted"), ("sku", "one letter")):
        yield Hole("tree_match", {"schema": _schema(**{name: {"x-eval-skip": True}})}, frozenset({kind}))


def _texts() -> Iterator[Hole]:
    for precision in (0, -1):
        yield Hole("number_match", {"gold": 1250, "precision": precision}, frozenset({"plus one", "off by one"}))
    for precision in (0, 1, 2):
        yield Hole("number_match", {"gold": "1250.375", "precision": precision}, frozenset({"last digit"}))
    for gold in ("Bergen", ["Bergen", "Oslo"]):
        yield Hole("string_match", {"gold": gold}, frozenset({"negated text"}), "official", others=("Roma", "Lyon"))
        yield Hole("string_match", {"gold": gold}, frozenset({"all candidates listed"}), others=("Roma", "Lyon"))


def write_gold(folder: Path, holes: list[Hole]) -> None:
    """A gold folder with an instance for each hole, and ones that bring other answers."""
    lines = []
    for i, hole in enumerate(holes):
        id_, parameters = f"h{i:02}", dict(hole.parameters)
        if hole.scorer == "table_match":
            (folder / id_).mkdir(parents=True)
            (folder / id_ / "g.csv").write_text(hole.table, encoding="utf-8")
            parameters["gold"] = "g.csv"
        elif hole.scorer == "tree_match":
            parameters["gold"] = RECORD
        lines.append({"instance_id": id_, "evaluation": {"func": hole.scorer, "parameters": parameters}})
    others = dict.fromkeys(other for hole in holes for other in hole.others)
    for i, other in enumerate(others):
        scorer = "number_match" if other.replace(".", "").isdigit() else "string_match"
        lines.append({"instance_id": f"x{i:02}", "evaluation": {"func": scorer, "parameters": {"gold": other}}})
    folder.mkdir(exist_ok=True)
    (folder / "s_eval.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
