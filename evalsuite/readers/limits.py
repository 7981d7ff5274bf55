"""The limits of readers and workers: one flat table of numbers with their meanings."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from evalsuite.core.errors import UsageError, did_you_mean

Limits = Mapping[str, int | float]

MIB = 1024 * 1024
# From this size on, blocks of a CSV file cost less than cells, including the import of numpy in both workers.
BIG_BYTES = 256 << 10
# A file of so many bytes becomes packed text, which is then worth the import of numpy.
PACKED_BYTES = 16 << 10
# The one limit that is described in its own words and is not part of the limits' hash.
CLOCK = "clock"

LIMITS: dict[str, tuple[int | float, str]] = {
    "file_bytes": (256 * MIB, "bytes of one answer or gold file, after decompression"),
    "rows": (5_000_000, "lines of a CSV file, rows of a database table"),
    "columns": (20_000, "columns of a table"),
    "cells": (20_000_000, "rows x columns of a table"),
    "cell_bytes": (16 * MIB, "characters of one CSV cell"),
    "table_bytes": (256 * MIB, "bytes of the cells read from one database table"),
    "json_depth": (100, "nested lists and objects of a JSON value"),
    "json_keys": (100_000, "keys of one JSON object"),
    "json_records": (10_000, "records of a JSON list; a JSONL file may contain more"),
    "answer_bytes": (64 * 1024, "bytes of an answer in results_metadata.jsonl"),
    "files": (1000, "files that one answer names"),
    "line_bytes": (8 * MIB, "bytes of one line, or of one object over several lines, of a JSONL file"),
    "metadata_bytes": (512 * MIB, "bytes of results_metadata.jsonl, and of gold's *_eval.jsonl"),
    "archive_bytes": (1 << 30, "bytes of a submission in one archive, packed and unpacked"),
    "archive_members": (50_000, "files and folders of such an archive"),
    "notes": (100, "notes on how a submission was read"),
    "seconds": (10, "seconds of one instance, without the time it waits for a CPU"),
    "run_seconds": (604_800, "wall clock of a whole run; the remaining instances become timeout"),
    "run_bytes": (1 << 40, "bytes of answers that a whole run reads; the remaining instances become timeout"),
    "message_bytes": (1 << 30, "bytes of tables that one answer may send from its reader to the comparing process"),
    "result_bytes": (16 << 30, "bytes of text of an SQL answer's result"),
    "billed_bytes": (10 << 30, "bytes that one statement may bill"),
    "memory_mib": (2048, "address space of one worker, in MiB"),
    CLOCK: (0, "the frozen clock of queries, in seconds since 1970, by --frozen-clock DAY; 0: the real clock"),
}

DEFAULT_LIMITS: dict[str, int | float] = {name: value for name, (value, _) in LIMITS.items()}


def moved_limits(limits: Limits) -> dict[str, int | float]:
    """The limits that differ from their defaults, as the signature contains them."""
    return {name: value for name, value in limits.items() if DEFAULT_LIMITS.get(name) != value}


def resolve_limits(*overrides: Limits) -> dict[str, int | float]:
    """All limits by name: the defaults, then each override in turn (suite.yaml, then --limit).

    Raises:
        UsageError: An unknown name, or a value that is not a positive finite number (a whole one unless it counts seconds).
    """
    resolved = dict(DEFAULT_LIMITS)
    for override in overrides:
        for name, value in override.items():
            if name not in resolved:
                raise UsageError(f"unknown limit {name!r}", hint=did_you_mean(name, resolved))
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or (value <= 0 and (name, value) != (CLOCK, 0)):
                raise UsageError(f"limit {name!r} must be a number above 0, found {value!r}", hint=LIMITS[name][1])
            assert isinstance(value, int | float)
            if name not in ("seconds", "run_seconds") and value != int(value):
                raise UsageError(f"limit {name!r} must be a whole number, found {value!r}", hint=LIMITS[name][1])
            resolved[name] = value if name in ("seconds", "run_seconds") else int(value)
    return resolved


def clock_of(text: str) -> int:
    """The limit `clock` for a day or time in ISO 8601, in UTC unless it names its zone. Raises `UsageError`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"a frozen clock cannot be {text!r}", hint="write a day as 2026-05-31, or a time as 2026-05-31T18:30:00Z"
        ) from None
    seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    if seconds <= 0 or seconds != int(seconds):
        raise UsageError(f"a frozen clock cannot be {text!r}", hint="a whole second after the first day of 1970")
    return int(seconds)


def clock_words(seconds: float) -> str:
    """The limit `clock` as people write it: `2026-05-31`, or `2026-05-31T18:30:00Z` if it is not midnight."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").removesuffix("T00:00:00Z")
