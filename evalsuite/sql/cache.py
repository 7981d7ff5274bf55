"""Results already known, by engine, state of the database and statement: the same question is asked of a warehouse once."""

import contextlib
import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

from evalsuite.errors import FaultError
from evalsuite.memo import Memo
from evalsuite.sql.base import Cost, Executed, QueryLimits
from evalsuite.sql.spill import load_table, save_table

_COST = "cost.json"


class ResultCache:
    """Executed tables below a folder, one folder a result. Many processes may share it; what cannot be read or written is left out."""

    def __init__(self, folder: Path) -> None:
        self._memo = Memo(folder)

    def key(self, engine: str, fingerprint: str | None, sql: str) -> str | None:
        """The name a result is kept under; None where the database cannot say whether it has changed."""
        if fingerprint is None:
            return None
        return hashlib.sha256(json.dumps([engine, fingerprint, sql]).encode()).hexdigest()

    def get(self, key: str, limits: QueryLimits) -> Executed | None:
        """A known result, its cost as it was when it ran; raises LIMIT where it does not keep to today's limits."""
        known = self._memo.files(key, _read)
        if known is None:
            return None
        for name, found, most in (("rows", known.table.n_rows, limits.rows), ("columns", len(known.table.header), limits.columns)):
            if found > most:
                raise FaultError("LIMIT", f"the result has {found} {name} (limit {name}: {most})")
        if known.cost.bytes > limits.result_bytes:
            raise FaultError("LIMIT", f"the result has more than {limits.result_bytes} bytes (limit result_bytes)")
        return known

    def put(self, key: str, executed: Executed) -> None:
        """Keep a result."""
        import duckdb

        def write(folder: Path) -> None:
            save_table(executed.table, folder)
            (folder / _COST).write_text(json.dumps({"sql": executed.sql, "cost": asdict(executed.cost)}), encoding="utf-8")

        with contextlib.suppress(duckdb.Error):
            self._memo.put_files(key, write)


def _read(folder: Path) -> Executed:
    entry = json.loads((folder / _COST).read_text(encoding="utf-8"))
    return Executed(table=load_table(folder), cost=replace(Cost(**entry["cost"]), cached=True), sql=entry["sql"])
