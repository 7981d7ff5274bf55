"""Prompts: text files with `{{placeholders}}`, filled in one pass, so that what an answer holds is never read as a placeholder."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsuite.errors import FaultError

Message = Mapping[str, str]
BUNDLED = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_USER_LINE = re.compile(r"^\[user\][ \t]*\n", re.MULTILINE)
_CUT = " [... cut]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt's text. What stands before a line `[user]` is the system message; without such a line all is the user's."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """`name@` and 8 digits of the text's hash: another text is another judge."""
        return f"{self.name}@{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    @property
    def placeholders(self) -> set[str]:
        """The names between `{{` and `}}`."""
        return set(_PLACEHOLDER.findall(self.text))

    def messages(self, fields: Mapping[str, str], *, most_chars: int = 60_000) -> tuple[Message, ...]:
        """The chat messages with every placeholder filled in; a field longer than `most_chars` is cut, visibly.

        `{{boundary}}` is a mark that no field holds, the same for the same fields.

        Raises:
            FaultError: the text has a placeholder that is no field.
        """
        unknown = sorted(self.placeholders - {*fields, "boundary"})
        if unknown:
            known = ", ".join(sorted(fields))
            raise FaultError("BAD_SPEC", f"the prompt {self.name!r} has the unknown placeholder {unknown[0]!r}; known: {known}")
        shown = {name: value if len(value) <= most_chars else value[:most_chars] + _CUT for name, value in fields.items()}
        shown["boundary"] = _boundary(shown)
        system, user = self._parts()
        roles = (("system", system), ("user", user)) if system else (("user", user),)
        return tuple({"role": role, "content": _PLACEHOLDER.sub(lambda match: shown[match[1]], text)} for role, text in roles)

    def _parts(self) -> tuple[str, str]:
        parts = _USER_LINE.split(self.text, maxsplit=1)
        return (parts[0].strip(), parts[1].strip()) if len(parts) == 2 else ("", self.text.strip())


def read_prompt(name: str, folder: Path | None = None) -> Prompt:
    """The prompt `<name>.txt` of the user's folder where it is there, else the bundled one.

    Raises:
        FaultError: there is no such file, or it is not UTF-8.
    """
    if not re.fullmatch(r"[\w-]+", name):
        raise FaultError("BAD_SPEC", f"{name!r} is no name of a prompt", side="gold")
    for place in (*([folder] if folder is not None else []), BUNDLED):
        file = place / f"{name}.txt"
        if file.is_file():
            try:
                return Prompt(name=name, text=file.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError):
                raise FaultError("BAD_SPEC", f"the prompt file {file.name} cannot be read as UTF-8", side="gold") from None
    known = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.txt")))
    raise FaultError("BAD_SPEC", f"no prompt {name!r}; bundled ones: {known}", side="gold")


def _boundary(fields: Mapping[str, str]) -> str:
    """A mark out of the hash of all fields: an answer cannot hold it, because whoever wrote it does not know the reference."""
    everything = "\0".join(fields[name] for name in sorted(fields))
    return hashlib.sha256(everything.encode("utf-8", "surrogatepass")).hexdigest()[:12]
