"""Help of a scorer: its docstring parsed, and formatted as plain text."""

import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from evalsuite.core.scorer_contract import Scorer, readable

READS = {
    "text": ("a text", "answer"),
    "number": ("a text", "answer"),
    "table": ("a CSV file", "file"),
    "tables": ("several CSV files", "files"),
    "database": ("a DuckDB file", "file"),
    "tree": ("a JSON value", "answer or file"),
    "batch": ("the texts of all instances", "answer"),
    "query": ("a query of an SQLite database", "answer"),
}
WIDTH = 110
_RULE = re.compile(r"\b(Official and strict|Official|Strict): ")
_ARGUMENT = re.compile(r"(\w+): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One key of gold's `parameters`; `default` is JSON text, empty for a required key."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """The help of a scorer. `rules` maps `official` and `strict` to their meaning; `example` is an entry of `evaluation`."""

    name: str
    summary: str
    reads: str
    answer_type: str
    says: str
    notes: str
    rules: dict[str, str]
    parameters: tuple[Parameter, ...]
    example: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the help as a JSON object."""
        return {
            "name": self.name,
            "summary": self.summary,
            "reads": self.reads,
            "answer_type": self.answer_type,
            "says": self.says,
            "notes": self.notes,
            "rules": self.rules,
            "parameters": [
                {"name": p.name, "type": p.type, "needed": not p.default, "default": json.loads(p.default or "null"), "meaning": p.meaning}
                for p in self.parameters
            ],
            "example": self.example,
        }


def help_of(entry: Scorer) -> Help:
    """Parse the help of a scorer from its signature and docstring."""
    parts = _docstring_sections(inspect.getdoc(entry.function) or "")
    says, _, text = parts[""].partition("\n\n")
    notes, rules = _rule_meanings(" ".join(text.split()))
    reads, answer_type = READS[entry.marker.reads]
    return Help(
        name=entry.name,
        summary=entry.summary,
        reads=reads,
        answer_type=answer_type,
        says=" ".join(says.split()),
        notes=notes,
        rules=rules,
        parameters=tuple(_parameters(entry, _argument_meanings(parts.get("Args", "")))),
        example=_example(parts.get("Example", "")),
    )


def scorer_help_text(about: Help, *, command: str = "") -> str:
    """Format the help of one scorer, `WIDTH` columns wide; `command` is the example as a command line."""
    lines = [f"{about.name}: {about.summary}", f"reads {about.reads} (answer type: {about.answer_type})", ""]
    lines += wrap(about.says, WIDTH)
    lines += wrap(about.notes, WIDTH)
    for rule, text in about.rules.items():
        lines += ["", *_hanging(f" {rule:<10}", text)]
    lines += ["", "parameters"]
    width = max(len(parameter.name) for parameter in about.parameters) + 3
    for parameter in about.parameters:
        kind = f"{parameter.type}, {f'default {parameter.default}' if parameter.default else 'needed'}"
        lines += _hanging(f" {parameter.name:<{width}}", kind)
        lines += _hanging(" " * (width + 1), parameter.meaning)
    lines += ["", "example, an entry of gold's `evaluation`", f" {json.dumps(about.example)}"]
    if command:
        lines += ["", "example, at the command line", f" {command}"]
    return "\n".join(lines) + "\n"


def scorer_list_text(all_of_them: Iterable[Help]) -> str:
    """Format one line per scorer: name, answer type, summary."""
    rows = [("scorer", "reads", "answer type", "what is judged"), *((a.name, a.reads, a.answer_type, a.summary) for a in all_of_them)]
    sizes = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join(" " + "  ".join([*(cell.ljust(size) for cell, size in zip(row[:3], sizes, strict=True)), row[3]]) + "\n" for row in rows)


def _docstring_sections(text: str) -> dict[str, str]:
    """Split the docstring by heading (`Args`, `Example` ...); the text before the first heading has an empty name."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z]\w+:", line):
            heading = line[:-1]
            found[heading] = []
        else:
            found[heading].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def _rule_meanings(text: str) -> tuple[str, dict[str, str]]:
    """Return (the text before the rules, the text of each rule)."""
    notes, *parts = _RULE.split(text)
    rules: dict[str, str] = {}
    for label, said in zip(parts[::2], parts[1::2], strict=True):
        names = ("official", "strict") if " and " in label else (label.lower(),)
        rules |= dict.fromkeys(names, said.strip())
    return notes.strip(), rules


def _argument_meanings(args: str) -> dict[str, str]:
    """Return the text of each argument; an indented line continues the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(args).splitlines():
        match = _ARGUMENT.match(line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif name:
            found[name] += " " + line.strip()
    return found


def _parameters(entry: Scorer, meanings: dict[str, str]) -> Iterable[Parameter]:
    files = entry.marker.gold_files
    for name, parameter in entry.parameters.items():
        of_files = name == "gold" and files is not None
        kind = readable(files).replace("text", "file name") if of_files else readable(parameter.annotation)
        default = "" if parameter.default is inspect.Parameter.empty else json.dumps(parameter.default, default=str)
        yield Parameter(name=name, type=kind, default=default, meaning=meanings.get(name, ""))


def _example(text: str) -> dict[str, Any]:
    """Return the gold entry of the docstring, between backticks; empty if there is none."""
    match = re.search(r"`(\{.*\})`", text, re.DOTALL)
    entry: dict[str, Any] = json.loads(match[1]) if match else {}
    return entry


def _hanging(label: str, text: str) -> list[str]:
    """Format a label and its text with a hanging indent."""
    return wrap(text, WIDTH, initial_indent=label, subsequent_indent=" " * len(label)) if text else []
