"""Channel between the process of a program and that of its test. Each side requests operations on objects of the other and serves them.

While a side waits for a reply it serves incoming requests, so a callback runs in the middle of a call.
"""

import struct
import sys
import threading
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NoReturn, Protocol

from evalsuite.sandbox.program_proxies import Proxies
from evalsuite.sandbox.program_values import STANDARD, MessageError, Values, arguments_of, is_known, new_exception, without_frames

_LENGTH: Final = struct.Struct("=I")
_CHUNK: Final = 1 << 20
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, type(str.upper), type(str.__len__), type)


class Side(Protocol):
    """What differs between the program's side and the test's side."""

    strict: bool

    def perform(self, target: Any, operation: str, parts: list[Any]) -> Any:
        """Perform an operation on an object of this side."""

    def command(self, name: str, parts: list[Any]) -> Any:
        """Perform a command that concerns no object."""

    def check(self, value: Any) -> None:
        """Raise an error for an object that cannot be sent."""

    def news(self) -> list[tuple[Any, ...]]:
        """Return state changes that the other side applies before the rest of a message."""

    def apply_change(self, what: str, value: Any) -> None:
        """Apply one state change of the other side."""

    def refuse(self, reason: str) -> NoReturn:
        """End the test as failed."""

    def give_up(self, reason: str) -> NoReturn:
        """End the test as unknown."""


class Channel:
    """One end of a channel: `read(n)` returns up to n bytes, none at the end; `write` returns how many bytes it took."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[Any], int], side: Side) -> None:
        self._read, self._write, self._side = read, write, side
        from msgspec import msgpack

        first = int(side.strict)
        self._proxies = Proxies(first, strict=side.strict, ask=self.ask, refuse=side.refuse, give_up=side.give_up)
        self._values = Values(first, self)
        self._lock = threading.RLock()
        self._decode = msgpack.Decoder(Any).decode
        self._encode = msgpack.Encoder().encode

    def ask(self, operation: str, number: int, *parts: Any) -> Any:
        """Perform an operation on an object of the other side; return its value or raise its error."""
        with self._lock:
            self._send("ask", operation, number, *map(self._values.encode, parts))
            while True:
                kind, answer = self._receive()
                if kind == "value":
                    return answer[0]
                if kind == "raise":
                    error = answer[0]
                    answer.clear()
                    error.__from_other_side__ = True
                    raise error
                self._answer(*answer)

    def command(self, name: str, *parts: Any) -> Any:
        """Perform a command on the other side and return its value."""
        return self.ask(name, -1, *parts)

    def serve(self) -> None:
        """Serve requests until the other side closes."""
        while True:
            kind, asked = self._receive()
            if kind != "ask":
                raise MessageError(kind)
            self._answer(*asked)
            del asked

    def _answer(self, operation: str, number: int, parts: list[Any]) -> None:
        kind = "value"
        try:
            if number == -1:
                found = self._side.command(operation, parts)
            else:
                found = self._side.perform(self._proxies.own(number), operation, parts)
        except BaseException as error:
            kind, found = "raise", without_frames(error)
        # Drop references to the call, so that unused containers are found.
        parts.clear()
        try:
            wire = self._values.encode(found)
        except Exception as error:
            kind, wire = "raise", self._values.encode(TypeError(f"{type(found).__name__}: {error}"))
        del found
        self._send(kind, wire)

    def _send(self, kind: str, *wires: Any) -> None:
        news = [(what, self._values.encode(value)) for what, value in self._side.news()]
        changed, gone = self._values.changes()
        released, self._proxies.released = self._proxies.released, []
        data = self._encode([news, changed, gone, released, kind, wires])
        left = memoryview(_LENGTH.pack(len(data)) + data)
        while left:
            left = left[self._write(left) :]

    def _receive(self) -> tuple[str, list[Any]]:
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        message: Any = self._decode(self._take(length))
        news, changed, gone, released, kind, wires = message
        decode = self._values.decode
        body = [*wires[:2], [decode(wire) for wire in wires[2:]]] if kind == "ask" else [decode(wire) for wire in wires]
        applied = [(what, decode(wire)) for what, wire in news]
        self._values.apply(changed, gone)
        self._proxies.release(released)
        for what, value in applied:
            self._side.apply_change(what, value)
        return kind, body

    def _take(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            piece = self._read(min(size - len(got), _CHUNK))
            if not piece:
                raise EOFError
            got += piece
        return bytes(got)

    def send(self, value: Any) -> list[Any]:
        """Encode a value that is not plain data."""
        known = self._proxies.wire_of_known(value)
        if known is not None:
            return known
        if type(value) is float:
            return ["nan", self._proxies.number(value)]
        if isinstance(value, BaseException) and is_known(type(value)):
            fields = {name: one for name, one in vars(value).items() if name != "__from_other_side__"}
            return [
                "error",
                self._proxies.class_wire(type(value)),
                *map(self._values.encode, (arguments_of(value), fields, value.__cause__)),
            ]
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value and value.__name__ != "__main__":
            return ["module", value.__name__]
        if self._side.strict and isinstance(value, _FUNCTIONS) and (place := _library_place(value)):
            return ["named", self._proxies.number(value), *place]
        if isinstance(value, type):
            return self._proxies.class_wire(value)
        self._side.check(value)
        kind = self._proxies.class_wire(type(value))
        data = arguments_of(value) if isinstance(value, BaseException) else self._proxies.data_of(value)
        return ["object", self._proxies.number(value), kind, self._values.encode(data)]

    def receive(self, wire: list[Any]) -> Any:
        """Decode what `send` encoded on the other side."""
        tag = wire[0]
        if tag == "yours":
            return self._proxies.own(wire[1])
        if tag == "nan":
            return self._proxies.borrow(wire[1], float("nan"))
        if tag == "module":
            return import_module(wire[1])
        if tag == "object":
            return self._proxies.proxy(wire[1], self._proxies.class_of(wire[2]), self._values.decode(wire[3]))
        if tag == "error":
            kind = self._proxies.class_of(wire[1])
            arguments, fields, cause = map(self._values.decode, wire[2:])
            error = new_exception(kind, kind, arguments)
            vars(error).update(fields)
            error.__cause__ = cause
            return error
        if tag == "named" and not self._side.strict:
            found: Any = import_module(wire[2])
            for name in wire[3].split("."):
                found = getattr(found, name)
            return self._proxies.borrow(wire[1], found)
        return self._proxies.class_of(wire)


def _library_place(value: Any) -> tuple[str, str] | None:
    """Return the module and name under which the standard library has a function or class; None if it has not."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module is None:
        module = getattr(getattr(value, "__objclass__", None), "__module__", None)
    if not isinstance(module, str) or module.partition(".")[0] not in STANDARD or (isinstance(value, type) and is_known(value)):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None
