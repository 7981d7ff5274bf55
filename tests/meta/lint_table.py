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

An **error** prevents a check from scoring, or makes it score something unintended under every reading; a **warning** is probably a mistake;
a **note** is sound gold that the official rules misread, or that tests little. Errors end with exit code 1, with `--strict` warnings too.
`--ignore CODE,...` suppresses a code everywhere, `"lint_ignore": ["CODE"]` next to `evaluation` in one instance. `--fix` shows the repairs
with only one solution as a diff of the spec; they can change verdicts, so read it, then add `--write`.
`--format github` writes annotations, `--format json` one object.

`evalsuite gold check` reads `lint_ignore` too: it accepts gold that its own rules refuse if the instance names an error that lint finds
there, or one of {", ".join(f"`{code}`" for code in sorted(REFUSING))}.
"""


def page() -> str:
    """Return the page: one table per severity."""
    parts = [HEAD]
    for severity in SEVERITIES:
        rows = [f"| `{code}` | {kind.summary} |\n" for code, kind in CODES.items() if kind.severity == severity]
        parts.append(f"\n## {severity.capitalize()}s\n\n| code | what |\n|---|---|\n" + "".join(rows))
    return "".join(parts)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
