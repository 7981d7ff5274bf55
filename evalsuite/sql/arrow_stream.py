"""A DuckDB relation's rows by Arrow's C stream, which DuckDB fills without pyarrow: buffers of a batch, and no Python value a row.

The structures are those of Arrow's C data interface, which does not change. Only a relation of one VARCHAR and one BIGINT column without
NULL is read here.
"""

import ctypes
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

_FORMATS = [b"u", b"l"]


class StreamError(Exception):
    """The stream ended with this message of the engine's, or gives another shape than is read here."""


class _Schema(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Array(ctypes.Structure):
    pass


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Schema))),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Array))),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: the bytes of all texts, `ends` (n_rows + 1) where each begins and the last one ends, and the numbers.

    Views of the engine's own memory, which is gone when the next batch is asked for.
    """

    text: memoryview
    ends: memoryview
    numbers: memoryview


def read_batches(capsule: Any) -> Generator[Batch]:
    """The rows of a relation of (VARCHAR, BIGINT), whose `__arrow_c_stream__()` this is, in its order. Raises `StreamError`.

    The stream is let go of at the end, also of one that is closed before: until then its database cannot be opened anew.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = pointer(capsule, b"arrow_array_stream")
    stream = ctypes.cast(place, ctypes.POINTER(_Stream)).contents
    try:
        schema = _Schema()
        if stream.get_schema(place, ctypes.byref(schema)):
            raise StreamError(_last_error(stream, place))
        found = [schema.children[index].contents.format for index in range(schema.n_children)]
        schema.release(ctypes.addressof(schema))
        if found != _FORMATS:
            raise StreamError(f"columns of other formats: {found!r}")
        while True:
            batch = _Array()
            if stream.get_next(place, ctypes.byref(batch)):
                raise StreamError(_last_error(stream, place))
            if not batch.release:
                return
            try:
                yield _batch(batch)
            finally:
                batch.release(ctypes.addressof(batch))
    finally:
        stream.release(place)


def _batch(batch: _Array) -> Batch:
    texts, numbers = (batch.children[index].contents for index in range(2))
    n_rows = texts.length
    ends = _view(texts.buffers[1], 4 * (texts.offset + n_rows + 1)).cast("i")[texts.offset :]
    held = _view(texts.buffers[2], ends[n_rows])
    return Batch(held[ends[0] :], ends, _view(numbers.buffers[1], 8 * (numbers.offset + n_rows)).cast("q")[numbers.offset :])


def _view(place: int | None, n_bytes: int) -> memoryview:
    return memoryview((ctypes.c_char * n_bytes).from_address(place)).cast("B") if place and n_bytes else memoryview(bytearray(n_bytes))


def _last_error(stream: Any, place: Any) -> str:
    return (stream.get_last_error(place) or b"").decode("utf-8", "replace")
