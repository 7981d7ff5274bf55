"""The causes of wrong JSON records: leaves that one law makes right, fields that are missing or too many."""

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.causes import LAWS
from evalsuite.causes.value_pairs import Pair, finite
from evalsuite.explain.search import Cause, Judge, plural, show

Path = tuple[str | int, ...]
MOST_LEAVES: Final = 5000
ANY_OF: Final = "x-eval-any-of"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place where two trees differ: `wrong` (both have a value), `missing` (gold only) or `extra` (prediction only)."""

    path: Path
    status: str
    gold: Any = None
    predicted: Any = None


def differing(gold: Any, predicted: Any, path: Path = ()) -> Iterator[Leaf]:
    """The places where two JSON values differ, lists compared in step."""
    if isinstance(gold, dict) and ANY_OF in gold and isinstance(gold[ANY_OF], list):
        if predicted in gold[ANY_OF]:
            return
        gold = gold[ANY_OF][0] if gold[ANY_OF] else None
    if isinstance(gold, dict) and isinstance(predicted, dict):
        for key in dict.fromkeys((*gold, *predicted)):
            yield from _differing_at((*path, key), key in gold, key in predicted, gold.get(key), predicted.get(key))
    elif isinstance(gold, list) and isinstance(predicted, list):
        for i in range(max(len(gold), len(predicted))):
            inside = i < len(gold), i < len(predicted)
            yield from _differing_at((*path, i), *inside, gold[i] if inside[0] else None, predicted[i] if inside[1] else None)
    elif gold != predicted or isinstance(gold, bool) != isinstance(predicted, bool):
        yield Leaf(path, "wrong", gold, predicted)


def _differing_at(path: Path, in_gold: bool, in_predicted: bool, gold: Any, predicted: Any) -> Iterator[Leaf]:
    if in_gold and in_predicted:
        yield from differing(gold, predicted, path)
    else:
        yield Leaf(path, "missing" if in_gold else "extra", gold, predicted)


def shown_path(path: Path) -> str:
    """`orders[0].total`; `(root)` for the whole value."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "(root)"


def explain_whole(judge: Judge, form: Any) -> list[Cause] | None:
    """The causes that together make a wrong tree right."""
    gold = judge.parameters["gold"]
    leaves = []
    for leaf in differing(gold, form):
        leaves.append(leaf)
        if len(leaves) > MOST_LEAVES:
            judge.budget.note(f"more than {MOST_LEAVES} values differ and were not searched")
            return None
    found = [_cause_of_field(leaves_of_field) for leaves_of_field in _by_field(leaves)]
    whole = [one for one in found if one is not None]
    if not whole or len(whole) < len(found) or not judge.passes(_undone(form, whole)):
        return None
    for one in whole if len(whole) > 1 else ():
        rest = [other for other in whole if other is not one]
        if rest and judge.passes(_undone(form, rest)):
            whole = rest
    return [cause for cause, _ in whole]


def _undone(form: Any, found: Sequence[tuple[Cause, list[tuple[Path, Any]]]]) -> Any:
    """The tree with the values of some causes put."""
    tree = copy.deepcopy(form)
    for _, values in found:
        for path, value in values:
            tree = with_value_put(tree, path, value)
    return tree


_GONE: Final = object()


def _by_field(leaves: Sequence[Leaf]) -> list[list[Leaf]]:
    """The leaves of one field of all records and elements together. Elements to take away come last first."""
    fields: dict[tuple[Path, str], list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        fields[tuple("[]" if isinstance(step, int) else step for step in leaf.path), leaf.status].append(leaf)
    return [found[::-1] if status == "extra" else found for (_, status), found in fields.items()]


def _cause_of_field(leaves: Sequence[Leaf]) -> tuple[Cause, list[tuple[Path, Any]]] | None:
    """(the cause, the values to put) of one field's leaves."""
    first, n = leaves[0], len(leaves)
    where = f"at {shown_path(first.path)}"
    if first.status == "missing":
        cause = Cause("field missing", f"{plural(n, 'field')} of gold missing", where, puts_gold_in=True)
        return cause, [(leaf.path, leaf.gold) for leaf in leaves]
    if first.status == "extra":
        return Cause("field too many", f"{plural(n, 'field')} that gold does not have", where), [(leaf.path, _GONE) for leaf in leaves]
    if not all(is_leaf(leaf.gold) and is_leaf(leaf.predicted) for leaf in leaves):
        return None
    pairs = [Pair(leaf.gold, leaf.predicted, native=True) for leaf in leaves]
    for law in (law for law in LAWS if not law.partial):
        fixed = law.fix(pairs)
        if fixed is not None:
            where += f": gold {show(first.gold)}, handed in {show(first.predicted)}"
            says, golds = f"{fixed.says or law.says}, in {plural(n, 'value')}", [leaf.gold for leaf in leaves]
            cause = Cause(law.name, says, where, law=law, pairs=pairs, column=golds, puts_gold_in=law.name == "value lost")
            return cause, [(leaf.path, value) for leaf, value in zip(leaves, fixed.values, strict=True)]
    return None


def is_leaf(value: Any) -> bool:
    """Whether a value has nothing below it, and is no NaN or infinity."""
    return not isinstance(value, dict | list) and finite(value)


def with_value_put(tree: Any, path: Path, value: Any) -> Any:
    """The tree with a value at the path, changed in place; a list that is one short grows."""
    if not path:
        return value
    at = tree
    for step in path[:-1]:
        at = at[step]
    last = path[-1]
    if value is _GONE:
        del at[last]
    elif isinstance(at, list) and isinstance(last, int) and last >= len(at):
        at.append(value)
    else:
        at[last] = value
    return tree
