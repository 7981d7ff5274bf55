"""`python -m tests.meta.lint_table`: write docs/lint.md, the table of all codes of lint, from the code."""

from pathlib import Path

from evalsuite.analysis.gold_checks.lint import CODES, REFUSING, SEVERITIES
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "lint.md"
HEAD = f"""# What `gold lint` finds

Written from the code by `python -m tests.meta.lint_table`; a test holds it to the code.

```bash
evalsuite gold lint gold
evalsuite gold lint gold --format json
```

An **error** keeps a check from judging, or makes it judge what nobody meant, under every reading; a **warning** is likely a mistake; a
**note** is sound gold that the official rules misread, or that asks little. Errors end with exit code 1, with `--strict` warnings too.
A code is left out everywhere by `--ignore CODE,...`, for one instance by `"lint_ignore": ["CODE"]` beside its `evaluation`. `--fix` shows
the repairs that leave nothing to decide as a diff of the spec; they can move verdicts, so read it, then add `--write`.
`--format github` writes annotations, `--format json` one object.

`lint_ignore` answers to `evalsuite gold check` too: gold that is refused under its own rules is let pass where the instance names an error
that is found there, or one of {", ".join(f"`{code}`" for code in sorted(REFUSING))}.
"""


def page() -> str:
    """The page as it should stand: a table for each severity."""
    parts = [HEAD]
    for severity in SEVERITIES:
        rows = [f"| `{code}` | {kind.summary} |\n" for code, kind in CODES.items() if kind.severity == severity]
        parts.append(f"\n## {severity.capitalize()}s\n\n| code | what |\n|---|---|\n" + "".join(rows))
    return "".join(parts)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
