"""What `python -m tests.mutation` lists as changes that no test could notice are changes that it makes."""

from tests.mutation import EQUIVALENT, ROOT, changes, shape


def test_equivalent_changes_are_there() -> None:
    """An entry goes or is written again where its statement is; a rename of what it names is no reason."""
    names: dict[str, set[str]] = {}
    for function, _, _ in EQUIVALENT:
        module, name, *_ = function.split(".")
        names.setdefault(module, set()).add(name)
    files = [path for path in (ROOT / "evalsuite").rglob("*.py") if path.stem in names]
    made = {change.key for path in files for change in changes(str(path.relative_to(ROOT)), names[path.stem])}
    assert [key for key in EQUIVALENT if key not in made] == []
    assert shape('start = max(2, n.x) if "n" else None') == shape('begin = min(2, m.y) if "n" else None') != shape("start = max(3, n.x)")
