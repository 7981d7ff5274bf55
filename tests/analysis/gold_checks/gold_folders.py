"""A small made gold folder without a fault, and ways to plant some."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

CITIES = "city,visits,opened\nOslo,310,2019-03-01\nRome,1250,2020-11-15\nLima,87,2021-06-30\nBern,540,2018-01-09\n"
STOCK = "article,left\nbolts,120\nnuts,310\nscrews,512\nwashers,98\n"
SALES = "month,revenue\n2024-01,1500.5\n2024-02,1720.25\n2024-03,1610.75\n2024-04,1999.5\n"
DATABASE = (
    "CREATE TABLE orders (id INTEGER, customer VARCHAR, placed DATE, amount DECIMAL(10, 2))",
    "INSERT INTO orders VALUES (1, 'Meridian', DATE '2024-01-05', 99.50), (2, 'Nordhaus', DATE '2024-01-07', 12.75)",
)


def entry(id_: str, func: str, instruction: str, **parameters: Any) -> dict[str, Any]:
    """One line of a spec."""
    return {"instance_id": id_, "instruction": instruction, "evaluation": {"func": func, "parameters": parameters}}


@dataclass
class Made:
    """A gold folder in the making: entries by id, files by name, suite.yaml, and what is run in the database of `d1`."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, str | bytes] = field(default_factory=dict)
    suite: str = "name: made\ngroups:\n  tables: {prefix: c}\n"
    database: list[str] = field(default_factory=lambda: list(DATABASE))
    more_lines: list[str] = field(default_factory=list)
    links: dict[str, Path] = field(default_factory=dict)

    def parameters(self, id_: str) -> dict[str, Any]:
        """The parameters of an instance's check."""
        found: dict[str, Any] = self.evaluation(id_).setdefault("parameters", {})
        return found

    def evaluation(self, id_: str) -> dict[str, Any]:
        """An instance's evaluation object."""
        found: dict[str, Any] = self.entries[id_]["evaluation"]
        return found

    def lines(self) -> Sequence[str]:
        """The lines of the spec."""
        return [*(json.dumps(value) for value in self.entries.values()), *self.more_lines]

    def write(self, folder: Path) -> Path:
        """The gold folder, written below `folder`."""
        gold = folder / "gold"
        gold.mkdir()
        (gold / "made_eval.jsonl").write_text("".join(line + "\n" for line in self.lines()), encoding="utf-8")
        (gold / "suite.yaml").write_text(self.suite, encoding="utf-8")
        for name, content in self.files.items():
            place = gold / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, target in self.links.items():
            (gold / name).symlink_to(target)
        if self.database:
            (gold / "d1").mkdir(exist_ok=True)
            (gold / "d1" / "orders.duckdb").write_bytes(_database(*self.database))
        return gold


@cache
def _database(*statements: str) -> bytes:
    """A database file after these statements."""
    with TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/orders.duckdb") as connection:
            for statement in statements:
                connection.execute(statement)
        return Path(folder, "orders.duckdb").read_bytes()


def clean() -> Made:
    """Gold of every kind in which nothing is to be found."""
    made = [
        entry("t1", "string_match", "In which country was the first store abroad opened?", gold=["Portugal", "Portuguese Republic"]),
        entry("n1", "number_match", "What was the revenue of the third quarter?", gold=48215.75),
        entry(
            "c1", "table_match", "How many visits did each city have, and when was its store opened?", gold="cities.csv", ignore_order=True
        ),
        entry(
            "c2", "table_match", "What is left of each article?", gold=["a.csv", "b.csv"], condition_cols=[[0, 1], [0]], ignore_order=True
        ),
        entry("m1", "tables_match", "Give stock and sales, in order.", gold=["stock.csv", "sales.csv"], ignore_orders=[False, False]),
        entry("d1", "duckdb_match", "Build the table orders.", gold="orders.duckdb", condition_tabs=["orders"], ignore_orders=[True]),
        entry(
            "r1",
            "tree_match",
            "Extract the samples.",
            gold=[{"id": "a", "kelvin": 300}, {"id": "b", "kelvin": 310}],
            schema={"type": "object", "properties": {"id": {"type": "string"}, "kelvin": {"type": "integer"}}},
            id_field="id",
        ),
    ]
    files: dict[str, str | bytes] = {
        "c1/cities.csv": CITIES,
        "c2/a.csv": STOCK.replace("310", "311"),
        "c2/b.csv": "article\nbolts\nnuts\nscrews\nwashers\n",
        "m1/stock.csv": STOCK,
        "m1/sales.csv": SALES,
    }
    return Made(entries={one["instance_id"]: one for one in made}, files=files)
