"""JSON values for the tree scorers: how large they may be."""

import io
import json

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.readers.json_text import parse_tree, read_tree
from evalsuite.readers.limits import resolve_limits


def test_a_list_of_too_many_records_is_a_limit() -> None:
    """One JSON list holds at most json_records; a JSONL holds more, and so may a list inside a record."""
    limits = resolve_limits({"json_records": 3})
    records = [{"a": n} for n in range(4)]
    assert parse_tree(json.dumps(records[:3]), limits=limits) == records[:3]
    with pytest.raises(FaultError, match=r"4 records .limit json_records: 3") as refused:
        parse_tree(json.dumps(records), limits=limits)
    assert refused.value.fault.code == "LIMIT"
    lines = "\n".join(map(json.dumps, records)).encode()
    assert read_tree(io.BytesIO(lines), name="x.jsonl", limits=limits) == records
    assert parse_tree(json.dumps({"a": [1, 2, 3, 4]}), limits=limits) == {"a": [1, 2, 3, 4]}
