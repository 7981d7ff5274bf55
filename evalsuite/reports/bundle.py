"""A bundle as Markdown for an issue: what is said of the case, its files, and one command that scores it.

Its texts come from a submission: they stand in fences that they cannot close, and a command is only given where every character shows.
"""

import json
import re

from evalsuite import __version__
from evalsuite.explain.bundle_files import CASE, SPEC, File, files_of, spec_of
from evalsuite.explain.smallest_case import Bundle
from evalsuite.reports.clean import clean
from evalsuite.reports.markdown import code

_LANGUAGES = {"csv": "csv", "json": "json", "jsonl": "json", "duckdb": "sql"}


def bundle_markdown(bundle: Bundle, *, signature: str = "") -> str:
    """The Markdown, about as long as the case."""
    files = files_of(bundle)
    sizes = ", ".join(f"{before:,} to {after:,} {what}" for what, before, after in bundle.sizes)
    parts = [
        f"### {code(bundle.instance_id, 80)}: {bundle.scorer} says {_verdict(bundle)}",
        *_reasons(bundle),
        f"The smallest case with that verdict: {sizes} ({bundle.n_calls} calls of the scorer).",
        *[clean(note) for note in bundle.notes],
        _fenced(json.dumps(spec_of(bundle)["evaluation"], ensure_ascii=False), "json", "Spec"),
        *([_fenced(bundle.answer, "text", "Answer")] if bundle.reads in ("text", "number") else []),
        *[_fenced(file.text, _LANGUAGES[file.path.rpartition(".")[2]], code(file.path)) for file in files if f"/{CASE}/" in file.path],
        _command(files),
        f"<sub>evalsuite {__version__}{f' · {code(signature)}' if signature else ''}</sub>",
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(bundle: Bundle) -> str:
    if bundle.official == bundle.strict:
        return f"{bundle.official} under both rules"
    cause = f" ({bundle.flip})" if bundle.flip else ""
    return f"{bundle.official} under official, {bundle.strict} under strict rules{cause}"


def _reasons(bundle: Bundle) -> list[str]:
    if bundle.reason == bundle.strict_reason:
        return [code(bundle.reason)] if bundle.reason else []
    return [f"- official: {code(bundle.reason)}\n- strict: {code(bundle.strict_reason)}"]


def _fenced(text: str, language: str, title: str) -> str:
    """A titled block that its text cannot leave, whatever backticks are in it; what cannot be printed shows as its escape."""
    shown = "\n".join(clean(line) for line in text.rstrip("\n").split("\n"))
    return f"{title}:\n{_fence(shown)}{language}\n{shown}\n{_fence(shown)}"


def _fence(text: str) -> str:
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def _command(files: list[File]) -> str:
    """One command that writes the files and scores them, or what to do where a character of theirs would not survive being pasted."""
    texts = "".join(file.text for file in files)
    if any(clean(line) != line for line in texts.split("\n")):
        return "The files hold characters that cannot be pasted: `evalsuite bundle ... -o FOLDER` writes them."
    end = "END"
    while end in texts:
        end += "_"
    folders = " ".join(sorted({file.path.rpartition("/")[0] for file in files}))
    lines = [f"mkdir -p {folders}"]
    for file in files:
        to = f"cat > {file.path}"
        if file.is_sql:
            to = f"python -c 'import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.stdin.read())' {file.path}"
        lines.append(f"{to} <<'{end}'\n{file.text.rstrip(chr(10))}\n{end}")
    lines.append(f"evalsuite check {CASE} --result_dir submission --gold_dir {SPEC.partition('/')[0]}")
    text = "\n".join(lines)
    fold = f"{_fence(text)}sh\n{text}\n{_fence(text)}"
    return f"<details><summary>One command, in an empty folder</summary>\n\n{fold}\n\n</details>"
