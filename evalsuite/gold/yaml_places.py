"""YAML files of a grader as values that know where they stand: a fault is told with file and line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError, GoldError


class Placed(dict[str, Any]):
    """A mapping of a file that knows the line of each of its keys."""

    lines: dict[str, int]


def place_of_fault(section: Any, place: str, message: str) -> str:
    """The "file:line" of the key of a section that a message names, quoted or as `judge.key`; else that of the section, `place`."""
    lines = section.lines if isinstance(section, Placed) else {}
    named = (line for key, line in lines.items() if repr(key) in message or f".{key} " in message)
    return f"{place.rpartition(':')[0]}:{line}" if (line := next(named, None)) is not None else place


def top_level(file: Path, where: str) -> Iterator[tuple[str, Any, str]]:
    """(key, value, "file:line") of the mapping the file holds. Raises `GoldError` with the line."""
    with yaml_nodes(file, where) as (loader, node):
        if node is None:
            return
        if node.id != "mapping":
            raise GoldError(f"{where}:{node.start_mark.line + 1}: not a mapping", hint="write `key: value` lines")
        for key_node, value_node in node.value:
            place = f"{where}:{key_node.start_mark.line + 1}"
            value = loader.construct_object(value_node, deep=True)
            if isinstance(value, dict):
                value = Placed(value)
                value.lines = {key.value: key.start_mark.line + 1 for key, _ in value_node.value}
            yield str(key_node.value), value, place


@contextmanager
def yaml_nodes(file: Path, where: str) -> Iterator[tuple[Any, Any]]:
    """(the loader, the top node) of a YAML file in which no key stands twice; the node is None for an empty one.

    Inside, whatever YAML cannot make a value of becomes a `GoldError` with the line.
    """
    import yaml

    try:
        loader = yaml.SafeLoader(file.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        if node is not None and node.tag == "tag:yaml.org,2002:null":
            node = None
        if node is not None:
            refuse_twice(node, where)
        yield loader, node
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise GoldError(f"{where}{line}: not valid YAML", hint="quote texts that hold ': ' or begin with a special character") from None
    except EvalsuiteError:
        raise
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        raise GoldError(f"{where}: not readable as UTF-8 text", hint="save the file as UTF-8; dates are written 2027-06-30") from None
    except OSError:
        raise GoldError(f"{where}: the file cannot be read") from None


def refuse_twice(node: Any, where: str) -> None:
    """Raise where a key stands twice in one mapping, at any depth: YAML itself would let the last one win."""
    import yaml

    nodes, known = [node], set()
    while nodes:
        node = nodes.pop()
        # An alias is the same node again.
        if id(node) in known or isinstance(node, yaml.ScalarNode):
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes.extend(node.value)
            continue
        keys: set[str] = set()
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in keys:
                raise GoldError(f"{where}:{key_node.start_mark.line + 1}: the key {key!r} stands twice", hint="keep each key once")
            keys.add(key)
            nodes.append(value_node)
