"""The cure of a mistake: the one command line that an error proposes, from its hint, from the line as typed, or from the files.

`cure_of` tries each way in turn. A cure parses, differs from what was typed, and deletes nothing, so that `--fix` may run it.
"""

import os
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evalsuite.cli.commands import COMMANDS
from evalsuite.core.errors import EvalsuiteError
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.import_ref import lazy_pattern

_OPTION = lazy_pattern(r"(?<![\w-])--[a-z][\w-]*")
# Texts between backticks are commands with options of their own.
_COMMAND = lazy_pattern(r"`[a-z][^`]*`|\bevalsuite [a-z].*")
_EVERYWHERE = frozenset({"--debug", "--help", "--version"})
_NEAREST = lazy_pattern(r"did you mean '([^']+)'\?")
_QUOTED = lazy_pattern(r"'([^']*)'|(?<![\w-])(--?[\w-]+)")
_IN_HINT = lazy_pattern(r"(?:^|`)(?<!see `)evalsuite ([^`;]+?)(?:`|$)")
# A placeholder in the command of a hint: `FOLDER`, `FILE.csv`, `[RUN]`, `...`.
_PLACEHOLDER = lazy_pattern(r"[A-Z][A-Z_]+(\.[a-z]+)?|.*\.\.\..*|.*[<>|{}\[\]].*")
_DASHES = lazy_pattern(r"[‐‑‒–—―−]+(?=[a-z])")
# Commands that delete are never proposed.
_DELETING = frozenset({"rm", "delete", "prune"})
# What a command expects, and the option that a further path belongs to.
_EXPECTED = {"run": "submission", "validate": "submission"}
_EXPECTED |= {f"gold {name}": "gold" for name in ("check", "lint", "audit", "review", "errata", "contamination", "convert")}
_FURTHER_PATH = {"init": "--gold-from", "suite create": "--from", "suite run": "--from"}
_FURTHER_PATH |= dict.fromkeys(("check", "explain", "bundle"), "--result-dir")
_OF_COLUMNS = {"suite create": ("--input", "--reference"), "suite run": ("--candidate",)}
# Options whose values are files or folders to score or to compare.
_OF_THINGS = frozenset({"--gold", "--result-dir", "--run", "--prediction", "--from"})
# Commands of any number of submissions and runs.
_OF_MANY = frozenset({"compare", "leaderboard"})
# A file in each kind of folder.
_MARKS = {"submission": "results_metadata.json*", "gold": "*_eval.jsonl", "run": "run.json"}
_KIND_OF_PLACEHOLDER = {"FOLDER": "submission", "GOLD": "gold", "RUN": "run"}
# Messages about a file or folder of another kind than the command takes, or about an absent one.
_OTHER_KIND = lazy_pattern(
    r"not a |no such|unexpected|unknown scorer|no instance|no finished|a folder|belongs to no|no \*_eval"
    "|no results_meta|^no command|not valid JSON"
)
_LACKS_COLUMN = lazy_pattern(r"Missing option '--(candidate|from)'|has no \w+ column|^no command")
_ABSENT = lazy_pattern(r"no such|not there|no finished|no command and no file")
_TAKEN = lazy_pattern(r"exists already|there is a suite .* already|not empty|not an empty folder|is a submission, not a run folder")
# Kinds of things that say by themselves why another command is proposed.
_TELLING = {"table": "a table", "candidates": "questions, references and candidates", "records": "JSON records", "log": "a log"}


class Part(NamedTuple):
    """A word of a command line that is no option, or an option with its value; `option` is its first long spelling."""

    words: Sequence[str]
    value: str
    option: str = ""


class Mistake(NamedTuple):
    """A command line that failed with a message and a hint."""

    message: str
    hint: str
    arguments: Sequence[str]

    def names(self, word: str) -> bool:
        """Return whether the message has the word, or the path."""
        bare = re.escape(word.rstrip("/"))
        return bool(word) and re.search(rf"(?<![\w./-]){bare}(?![\w/-]|\.\w)", self.message) is not None


def cure_of(message: str, hint: str, arguments: Sequence[str]) -> tuple[str, list[str] | None]:
    """Return the hint and the words of the one command line, without `evalsuite`, that the error proposes; None for none or several."""
    mistake = Mistake(message, hint, arguments)
    if "did you mean" in hint and _NEAREST.search(hint) is None:
        return hint, None
    for way in (
        _take_nearest_word,
        _begin_with_command,
        _retype_option,
        _join_words,
        _rename_output,
        _name_existing_path,
        _add_option_of_path,
        _add_gold,
        _take_command_of_hint,
        _take_folder_of_kind,
        _plan_for_things,
    ):
        for better, line in way(mistake):
            words = line if line == list(arguments) else _with_gold(line)
            if _is_cure(words, arguments):
                return better, words
    return hint, None


def filter_hint(hint: str, options: Collection[str]) -> str:
    """Return the alternatives of a hint (separated by `, or `) without those that need an option outside `options`.

    The same error can occur in many commands; its hint lists the options of all of them.
    """
    ways = hint.split(", or ")
    return ", or ".join(way for way in ways if options_in(way) <= _EVERYWHERE.union(options))


def options_in(text: str) -> set[str]:
    """Return the long options named in a text, except those of whole commands."""
    return set(_OPTION.findall(_COMMAND.sub("", text)))


def _is_cure(words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether a command line parses, is another one, and deletes nothing."""
    from evalsuite.cli.entrance import is_thing
    from evalsuite.cli.parser import find_command, usage_errors

    if list(words) == list(arguments) or _DELETING & {*words[1:2]} - {*arguments} or list(words) in (["--help"], ["run"]):
        return False
    if words[:1] and words[0] in COMMANDS and "--help" not in words:
        command, names, rest = find_command(words)
        try:
            command.make_context(names[-1], rest)
        except EvalsuiteError:
            return False
        except usage_errors():
            return False
        return True
    return words[:1] == ["--version"] or "--help" in words or is_thing(words[0])


Ways = Iterator[tuple[str, list[str]]]


def _take_nearest_word(mistake: Mistake) -> Ways:
    """Yield the line with the nearest known word of the hint in the place of the wrong one."""
    nearest = _NEAREST.search(mistake.hint)
    if nearest is None:
        return
    right = nearest[1]
    quoted_words = {quoted or option for quoted, option in _QUOTED.findall(mistake.message)} - {""}
    wrong = {word for word in quoted_words if word.startswith("-") == right.startswith("--")}
    lines = [line for word in wrong for line in _replace_word(mistake.arguments, word, right)]
    if not wrong:
        words = [word for word in dict.fromkeys(mistake.arguments) if not word.startswith("-") and mistake.names(word)]
        lines = [line for word in words for line in _replace_word(mistake.arguments, word, right)]
    if len(lines) == 1:
        yield mistake.hint, lines[0]


def _begin_with_command(mistake: Mistake) -> Ways:
    """Yield the line with its command before the options: `--gold g run answers` is `run answers --gold g`."""
    words = mistake.arguments
    if not words or not words[0].startswith("-") or not mistake.message.startswith("No such option"):
        return
    # A word after a long option is rather its value: `--gold gold run answers`.
    places = [at for at, word in enumerate(words) if word in COMMANDS]
    for at in sorted(places, key=lambda at: words[at - 1].startswith("--"))[:1]:
        yield "the command comes first, then its options", [*words[at:], *words[:at]]


def _retype_option(mistake: Mistake) -> Ways:
    """Yield the line with another spelling of an option: `—rules`, `-rules` or `rules=strict`."""
    from evalsuite.cli.parser import options_of_call

    arguments, options = mistake.arguments, set(options_of_call(mistake.arguments))

    def as_option(word: str) -> str:
        name, assigned, value = word.partition("=")
        spelled = "--" + _DASHES.sub("", name).lstrip("-")
        is_meant = spelled in options and (_DASHES.match(word) or (name.startswith("-") and len(name) > 2) or assigned)
        return spelled + assigned + value if is_meant else word

    words = [as_option(word) for word in arguments]
    if words != list(arguments):
        yield f"an option begins with two dashes: {next(word for word in words if word not in arguments)}", words


def _join_words(mistake: Mistake) -> Ways:
    """Yield the line with words joined: `my answers` in quotes, `a b` as `a,b`."""
    arguments = mistake.arguments
    for at in range(len(arguments) - 1):
        for end in range(at + 2, len(arguments) + 1):
            name = " ".join(arguments[at:end])
            if os.path.lexists(name) and not all(os.path.lexists(word) for word in arguments[at:end]):
                yield f"put a name with spaces in quotes: {shlex.quote(name)}", [*arguments[:at], name, *arguments[end:]]
    parts = _parts(arguments)
    for at, (listing, extra) in enumerate(pairwise(parts)):
        if listing.option == "--only" and not extra.option and mistake.names(extra.value):
            more = [part.value for part in parts[at + 1 :] if not part.option]
            options_after = [word for part in parts[at + 1 :] if part.option for word in part.words]
            before = [word for part in parts[:at] for word in part.words]
            yield "several ids have commas between them", [*before, "--only", ",".join([listing.value, *more]), *options_after]


def _rename_output(mistake: Mistake) -> Ways:
    """Yield the line with a new name in the place of one that is taken."""
    if _TAKEN.search(mistake.message) is None:
        return
    parts = _parts(mistake.arguments)
    for part in reversed(parts[1:]):
        if mistake.names(part.value):
            name = next(name for n in range(2, 1000) if not os.path.lexists(name := f"{part.value.rstrip('/')}_{n}"))
            renamed = [*part.words[:-1], part.words[-1].removesuffix(part.value) + name]
            yield mistake.hint, [word for other in parts for word in (renamed if other is part else other.words)]


def _name_existing_path(mistake: Mistake) -> Ways:
    """Yield the line with the name of a file or folder that exists, near to one that does not."""
    if _ABSENT.search(mistake.message) is None:
        return
    for part in _parts(mistake.arguments):
        if part.option not in ("", *_OF_THINGS) or not mistake.names(part.value) or os.path.lexists(part.value):
            continue
        path = re.sub("^~(?=/)", str(Path.home()), part.value).replace("\\", "/").rstrip("/")
        near = path if path != part.value and os.path.lexists(path) else _find_nearest(Path(path), mistake.message)
        for line in _replace_word(mistake.arguments, part.value, near) if near else ():
            yield f"did you mean {near!r}?", line


def _find_nearest(path: Path, message: str) -> str:
    """Return the file or folder of the same folder and of the kind that a message asks for with the nearest name; empty if none is near."""
    kind = next((kind for kind in _MARKS if f"{kind} folder" in message or f"finished {kind}" in message), "")
    try:
        places = [place for place in path.parent.iterdir() if not place.name.startswith(".")]
    except OSError:
        return ""
    places = [place for place in places if (_is_of(place, kind) if kind else place.suffix == path.suffix)]
    if len(places) == 1 and kind not in ("", "run"):
        return str(places[0])
    import difflib

    near = difflib.get_close_matches(path.stem, sorted(place.stem for place in places), n=1, cutoff=0.7)
    return str(next(place for place in places if place.stem == near[0])) if near else ""


def _add_gold(mistake: Mistake) -> Ways:
    """Yield the line with `--gold` before the gold folder that it has, or with the only one of the working folder if it has none."""
    if mistake.message.endswith("no such gold folder") or mistake.message.startswith("unexpected argument"):
        yield mistake.hint, _with_gold(mistake.arguments)


def _with_gold(words: Sequence[str]) -> list[str]:
    """Return a line about a submission with its gold folder as `--gold`: the one in it, else the working folder's only one."""
    parts = _parts(words)
    if not _lacks_gold(words, parts):
        return list(words)
    typed = [part for part in parts[1:] if not part.option and _is_of(Path(part.value), "gold")]
    if typed and _command(words) not in _OF_MANY:
        return [*(word for part in parts if part not in typed for word in part.words), "--gold", *(part.value for part in typed[:1])]
    golds = _find_folders("gold") if not typed and _command(words) != "validate" else []
    return [*words, "--gold", *golds] if len(golds) == 1 and golds != ["gold"] else list(words)


def _lacks_gold(words: Sequence[str], parts: Sequence[Part]) -> bool:
    """Return whether a line about a submission names neither gold nor a run, though its command takes `--gold`."""
    from evalsuite.cli.parser import options_of_call

    is_about_one = any(part.option in ("", "--result-dir") and _is_of(Path(part.value), "submission") for part in parts[1:])
    return is_about_one and "--gold" in options_of_call(words) and all(part.option not in ("--gold", "--run") for part in parts)


def _add_option_of_path(mistake: Mistake) -> Ways:
    """Yield the line with the option that a file or folder lacks: `init tables` is `init --gold-from tables`.

    With an instance's id that is a submission or a run, before or after it: `check answers q1` is `check --result-dir answers q1`.
    """
    parts = _parts(mistake.arguments)
    usual = _FURTHER_PATH.get(_command(mistake.arguments), "")
    taken = {part.option for part in parts if part.option}
    if not usual or taken & {usual, "--run" if usual == "--result-dir" else usual}:
        return
    plain = [part for part in parts[1:] if not part.option]
    has_id = usual == "--result-dir" and any(not os.path.lexists(part.value) for part in plain)
    for part in plain:
        option = _option_of(part.value, usual)
        if option and (part is not parts[1] or has_id or usual == "--gold-from"):
            words = [word for other in parts for word in ([option] if other is part else []) + [*other.words]]
            yield f"{option} {shlex.quote(part.value)}", words


def _option_of(path: str, usual: str) -> str:
    """Return the option that a path belongs to, of an instance one for submissions or runs; empty for gold and for no file."""
    place = Path(path)
    if not os.path.lexists(path) or _is_of(place, "gold"):
        return ""
    if usual != "--result-dir":
        return usual
    return "--run" if _is_of(place, "run") else usual if _is_of(place, "submission") else ""


def _take_command_of_hint(mistake: Mistake) -> Ways:
    """Yield the command in the hint, if it is the only one; a FOLDER, GOLD or RUN in it is the only one of the working folder."""
    commands = [shlex.split(command) for command in _IN_HINT.findall(mistake.hint)]
    is_usage = "[OPTIONS]" in mistake.hint and not mistake.message.startswith("Missing argument")
    if len(commands) != 1 or " or `evalsuite" in mistake.hint or is_usage:
        return
    words = []
    for word in commands[0]:
        kind = _KIND_OF_PLACEHOLDER.get(word.strip("{}"))
        if word == "[OPTIONS]" or (word.startswith("[") and not kind):
            continue
        places = _find_folders(kind) if kind else []
        if kind == "submission" and any(is_dir(Path(name)) for name in mistake.arguments[1:]):
            # Another folder than a typed one is no cure.
            places = [place for place in places if place in mistake.arguments]
        words.append(places[0] if len(places) == 1 else word)
    if not any(map(_PLACEHOLDER.fullmatch, words)):
        yield mistake.hint, words


def _take_folder_of_kind(mistake: Mistake) -> Ways:
    """Yield the line with the folder of the expected kind in the place of another, if the working folder has just one of that kind."""
    kind = _EXPECTED.get(_command(mistake.arguments), "")
    if not kind:
        return
    parts, places = _parts(mistake.arguments), _find_folders(kind)
    things = [part for part in parts if not part.option and os.path.lexists(part.value)]
    for part in things[:1]:
        is_other = any(_is_of(Path(part.value), other) for other in _MARKS if other != kind) and not _is_of(Path(part.value), kind)
        if is_other and mistake.names(part.value) and len(places) == 1 and places[0] not in mistake.arguments:
            for line in _replace_word(mistake.arguments, part.value, places[0]):
                yield mistake.hint, line


def _plan_for_things(mistake: Mistake) -> Ways:
    """Yield the command that `evalsuite THING ...` chooses for the files and folders of the line, if the message is about one of them."""
    from evalsuite.cli.entrance import plan_for

    parts = _parts(mistake.arguments)
    things = _find_things(parts)
    values = list(dict.fromkeys(_containing_folder(part.value) for part in things))
    wrong = [part for part in things if mistake.names(part.value)] if _OTHER_KIND.search(mistake.message) else []
    if not values or not (wrong or _LACKS_COLUMN.search(mistake.message) or mistake.message.endswith("no such gold folder")):
        return
    try:
        plan = plan_for(values, ())
    except (EvalsuiteError, OSError):
        return
    if not plan.commands:
        return
    about = f"{', '.join(values)}: {_TELLING[plan.kind]}" if plan.kind in _TELLING else mistake.hint
    is_other_gold = any(part.option == "--gold" for part in wrong) and plan.commands[0][0] != _command(mistake.arguments)
    drops_words = any(not part.option and part not in things for part in parts[1:]) and plan.kind not in _TELLING
    if not (is_other_gold or drops_words):
        for words in _add_options(mistake, list(plan.commands[0]), things):
            yield about, words


def _find_things(parts: Sequence[Part]) -> list[Part]:
    """Return the files and folders of a line that it scores or compares."""
    return [part for part in parts if part.option in ("", *_OF_THINGS) and os.path.lexists(part.value)]


def _add_options(mistake: Mistake, words: list[str], things: Sequence[Part]) -> Iterator[list[str]]:
    """Yield a command for the things of a line with the line's other options, unless it is the line itself."""
    parts = _parts(mistake.arguments)
    kept_words = [word for part in parts[1:] if part.option and part not in things and part.option not in words for word in part.words]
    if _command(mistake.arguments) in _OF_COLUMNS and words[:2] == ["suite", "try"]:
        # The columns that were guessed, for the command that was typed.
        missing_options = {*_OF_COLUMNS[_command(mistake.arguments)]} - {part.option for part in parts}
        kept_words = [word for part in _parts(words) if part.option in missing_options for word in part.words]
        words = list(mistake.arguments)
    words += kept_words
    if _drop_default_gold(words) != _drop_default_gold(mistake.arguments):
        yield words


def _containing_folder(path: str) -> str:
    """Return the gold folder, submission or run that a file belongs to; another path as it is."""
    place = Path(path)
    parent = place.parent
    is_part = is_file(place) and parent != Path() and any(_is_of(parent, kind) for kind in _MARKS) and not place.match(_MARKS["gold"])
    return str(parent) if is_part else path


def _drop_default_gold(words: Sequence[str]) -> list[str]:
    return shlex.split(shlex.join(words).replace(" --gold gold", ""))


def _command(arguments: Sequence[str]) -> str:
    """Return the command of a line, with the group that it belongs to."""
    from evalsuite.cli.parser import find_command

    return " ".join(find_command(arguments)[1])


def _parts(arguments: Sequence[str]) -> list[Part]:
    """Return the words after the command: each argument, and each option with its value."""
    from evalsuite.cli.parser import find_command, spellings

    command, names, rest = find_command(arguments)
    if command is None:
        return [Part([word], word) for word in arguments]
    options = {spelled: parameter for parameter in command.params for spelled in spellings(parameter) if spelled.startswith("-")}
    parts, waiting = [Part(names, " ".join(names))], iter(rest)
    for word in waiting:
        option, assigned, value = word.partition("=")
        if option not in options:
            parts.append(Part([word], word, word if word.startswith("--") else ""))
            continue
        first = next((spelled for spelled in options[option].opts if spelled.startswith("--")), option)
        value = value if assigned else "" if options[option].is_flag else next(waiting, "")
        parts.append(Part([word] if assigned or not value else [word, value], value, first))
    return parts


def _find_folders(kind: str) -> list[str]:
    """Return the folders of a kind in the working folder."""
    try:
        return sorted(place.name for place in Path().iterdir() if not place.name.startswith(".") and _is_of(place, kind))
    except OSError:
        return []


def _is_of(place: Path, kind: str) -> bool:
    return is_dir(place) and next(place.glob(_MARKS[kind]), None) is not None


def _replace_word(arguments: Sequence[str], wrong: str, right: str) -> Iterator[list[str]]:
    """Yield the command line with one word, or one part of a list or of NAME=VALUE, replaced."""
    words = right.split() if not os.path.lexists(right) else [right]
    for at, argument in enumerate(arguments):
        parts = re.split("([,=])", argument)
        if argument == wrong:
            yield [*arguments[:at], *words, *arguments[at + 1 :]]
        elif parts.count(wrong) == 1:
            parts[parts.index(wrong)] = right
            yield [*arguments[:at], "".join(parts), *arguments[at + 1 :]]
