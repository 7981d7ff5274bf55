"""A bundle as a gold folder and a submission folder that can be scored."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import UsageError
from evalsuite.explain.shrink import word
from evalsuite.explain.smallest_case import Bundle
from evalsuite.readers.duckdb_tables import quoted_name
from evalsuite.run.scoring import Options, run
from evalsuite.types import Rule

SPEC, METADATA = "gold/case_eval.jsonl", "submission/results_metadata.jsonl"
_ENDINGS: Final = {"table": "csv", "tables": "csv", "database": "duckdb", "tree": "json"}
_NAMES: Final = {"prediction": "answer", "gold": "gold", "schema": "schema"}
CASE: Final = "case"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the two folders: its path, and its text; of a database the SQL that makes it."""

    path: str
    text: str
    is_sql: bool = False


def files_of(bundle: Bundle) -> list[File]:
    """The files of a bundle: gold's spec and files, the submission's metadata and files. Names are the bundle's own."""
    data = list(_data_files(bundle))
    return [File(SPEC, _json_line(spec_of(bundle))), File(METADATA, _json_line(_answer_of(bundle))), *data]


def spec_of(bundle: Bundle) -> dict[str, Any]:
    """The entry of gold's spec."""
    parameters = {key: value for key, value in bundle.parameters.items() if key != "gold" or bundle.reads in ("text", "number")}
    if parameters.get("condition_cols") == []:
        parameters.pop("condition_cols")
    own = [_table_file_name(bundle, side, place) for side, place, _ in bundle.tables if side == "gold" and bundle.reads != "database"]
    if bundle.reads == "table":
        parameters = {"gold": own[0] if bundle.parameters["gold"] is None else own, **parameters}
    elif bundle.reads == "tables":
        parameters = {"gold": own, **parameters}
    elif bundle.reads == "database":
        parameters = {"gold": "gold.duckdb", **parameters}
    elif bundle.reads == "tree":
        parameters = {"gold": _tree_name("gold", bundle.gold), **parameters}
        parameters |= {"schema": "schema.json"} if bundle.schema is not None else {}
    return {"instance_id": CASE, "evaluation": {"func": bundle.scorer, "parameters": parameters}}


def _answer_of(bundle: Bundle) -> dict[str, Any]:
    if bundle.reads in ("text", "number"):
        kind, value = "answer", bundle.answer
    elif bundle.reads == "tree":
        kind, value = "file", _tree_name("answer", bundle.answer)
    elif bundle.reads == "database":
        kind, value = "file", "answer.duckdb"
    else:
        names = [_table_file_name(bundle, side, place) for side, place, _ in bundle.tables if side == "prediction"]
        kind, value = ("files", names) if bundle.reads == "tables" else ("file", names[0])
    return {"instance_id": CASE, "answer_type": kind, "answer_or_path": value}


def _table_file_name(bundle: Bundle, side: str, place: Any) -> str:
    several = sum(1 for other, _, _ in bundle.tables if other == side) > 1
    return f"{_NAMES[side]}{f'_{int(place) + 1}' if several else ''}.{_ENDINGS[bundle.reads]}"


def _tree_name(name: str, value: Any) -> str:
    return f"{name}.jsonl" if isinstance(value, list) else f"{name}.json"


def _data_files(bundle: Bundle) -> Iterator[File]:
    if bundle.reads == "tree":
        for side, name, value in (("gold", "gold", bundle.gold), ("submission", "answer", bundle.answer)):
            records = value if isinstance(value, list) else [value]
            yield File(f"{side}/{CASE}/{_tree_name(name, value)}", "".join(map(_json_line, records)))
        if bundle.schema is not None:
            yield File(f"gold/{CASE}/schema.json", _json_line(bundle.schema))
    elif bundle.reads == "database":
        for side, folder, name in (("gold", "gold", "gold"), ("prediction", "submission", "answer")):
            sql = "".join(_create_table_sql(str(place), table) for own, place, table in bundle.tables if own == side)
            yield File(f"{folder}/{CASE}/{name}.duckdb", sql, is_sql=True)
    else:
        for side, place, table in bundle.tables:
            folder = "gold" if side == "gold" else "submission"
            yield File(f"{folder}/{CASE}/{_table_file_name(bundle, side, place)}", _csv_text(table))


def _json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _csv_text(table: dict[str, Any]) -> str:
    """The table as CSV; a row that was too short stays so."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["header"])
    for row in zip(*table["columns"], strict=True):
        cells = list(row)
        while cells and cells[-1] is None:
            cells.pop()
        writer.writerow(cells)
    return text.getvalue()


def _create_table_sql(name: str, table: dict[str, Any]) -> str:
    """The SQL that makes a table: its columns with their types, then one INSERT a row, each value cast from its text."""
    columns = ", ".join(f"{quoted_name(header)} {kind}" for header, kind in zip(table["header"], table["types"], strict=True))
    lines = [f"CREATE TABLE {quoted_name(name)} ({columns});"]
    for row in zip(*table["columns"], strict=True):
        texts = (None if cell is None else cell.replace("'", "''") for cell in row)
        cells = ("NULL" if text is None else f"CAST('{text}' AS {kind})" for text, kind in zip(texts, table["types"], strict=True))
        lines.append(f"INSERT INTO {quoted_name(name)} VALUES ({', '.join(cells)});")
    return "\n".join(lines) + "\n"


def write(bundle: Bundle, folder: Path) -> None:
    """Write the two folders below `folder`."""
    for file in files_of(bundle):
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_sql:
            place.write_text(file.text, encoding="utf-8", errors="surrogateescape", newline="")
            continue
        import duckdb

        place.unlink(missing_ok=True)
        try:
            with duckdb.connect(str(place), config={"enable_external_access": "false", "threads": "1"}) as connection:
                connection.execute(file.text)
        except duckdb.Error:
            hint = "its types do not read their own text back"
            raise UsageError(f"{bundle.instance_id}: the shrunk database cannot be written", hint=hint) from None


def scored(folder: Path, *, rules: Rule | None) -> tuple[str, str, str]:
    """(official, strict, kind of flip) of a written bundle when it is scored as any submission is."""
    result = run(folder / "submission", folder / "gold", Options(rules=rules, save=False, jobs=1)).results[0]
    return word(result.official), word(result.strict), str(result.details.get("flip", "")).partition(":")[0]


def verdict(bundle: Bundle) -> tuple[str, str, str]:
    """(official, strict, kind of flip) of the instance that was shrunk."""
    return bundle.official, bundle.strict, bundle.flip if bundle.official != bundle.strict else ""
