"""What `python -m tests.mutation` lists as changes that no test could notice are changes that it makes."""

from tests.mutation import EQUIVALENT, changes


def test_equivalent_changes_are_there() -> None:
    """A line that is written differently takes its entry along."""
    made = {file: {(change.line_text, change.what) for change in changes(file)} for file in {file for file, _, _ in EQUIVALENT}}
    assert [(file, line, what) for file, line, what in EQUIVALENT if (line, what) not in made[file]] == []
