"""Server side of the worker protocol. Separate module so that workers do not import the client."""

import json
import os
import pickle
import socket
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.plugin_calls import failure
from evalsuite.sandbox.framing import COPY, LONGEST_RESULT, receive, send
from evalsuite.sandbox.temp_dirs import descriptor_path

# Tags of a call that yields many values: one value, or the end.
ITEM, END = "item", "end"


def named(function: str) -> Callable[..., Any]:
    """Return the function `module:name`."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def serve_calls(parent: socket.socket, *_: object) -> None:
    """Serve calls until the parent closes the socket."""
    while (frame := receive(parent, most=LONGEST_RESULT)) is not None:
        function, arguments, copied = pickle.loads(frame)
        copies: Sequence[int] = socket.recv_fds(parent, len(COPY), 1)[1] if copied else ()
        private = {"private": descriptor_path(copies[0])} if copies else {}
        try:
            reply = ["value", named(function)(*arguments, **private)]
            if isinstance(reply[1], Iterator):
                for item in reply[1]:
                    send(parent, json.dumps([ITEM, item], default=str).encode())
                reply = [END, None]
        except FaultError as error:
            reply = ["fault", [error.fault.code, error.fault.detail, error.fault.where, error.fault.side]]
        except EvalsuiteError as error:
            reply = ["error", [error.message, error.hint, type(error).__name__]]
        except (MemoryError, RecursionError):
            reply = ["fault", ["LIMIT", "the file does not fit into memory_mib or nests too deep", "", ""]]
        except Exception as error:  # a fault of the tool, recorded as such: no file ends a command
            fault = failure(function, error).fault
            reply = ["fault", [fault.code, fault.detail, "", ""]]
        for copy in copies:
            os.close(copy)
        send(parent, json.dumps(reply, default=str).encode())
