"""Search the causes of wrong JSON records: leaves that one hypothesis corrects, missing or extra fields, and causes of parts.

A part is a list that is paired in order, a field in another form, all values of a field off by one factor, two exchanged fields, or other
words for the same thing. Each is undone alone, or its schema is patched, and scored again; `scores` are the score before and after, whether
or not the rest is right.
"""

import copy
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any, Final

from evalsuite.analysis.causes import ERROR_HYPOTHESES
from evalsuite.analysis.causes.error_hypotheses import MOST_PLACES, ErrorHypothesis, Fixed
from evalsuite.analysis.causes.values import Pair, is_finite
from evalsuite.analysis.explain.search import Cause, Judge, show
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import count_words
from evalsuite.trees.eval_schema import annotate_xeval
from evalsuite.trees.json_schema import DEFAULTS, as_json_schema, child_schemas, effective_type, infer_schema, join
from evalsuite.trees.record_scoring import evaluate

Path = tuple[str | int, ...]
MOST_LEAVES: Final = 5000
ANY_OF: Final = "x-eval-any-of"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place where two trees differ: `find_wrong` (both have a value), `missing` (gold only) or `extra` (prediction only)."""

    path: Path
    status: str
    gold: Any = None
    predicted: Any = None


def find_differences(gold: Any, predicted: Any, path: Path = ()) -> Iterator[Leaf]:
    """Return the places where two JSON values differ, lists compared in order."""
    if isinstance(gold, dict) and ANY_OF in gold and isinstance(gold[ANY_OF], list):
        if predicted in gold[ANY_OF]:
            return
        gold = gold[ANY_OF][0] if gold[ANY_OF] else None
    if isinstance(gold, dict) and isinstance(predicted, dict):
        for key in dict.fromkeys((*gold, *predicted)):
            yield from _find_differences_at((*path, key), key in gold, key in predicted, gold.get(key), predicted.get(key))
    elif isinstance(gold, list) and isinstance(predicted, list):
        for i in range(max(len(gold), len(predicted))):
            inside = i < len(gold), i < len(predicted)
            yield from _find_differences_at((*path, i), *inside, gold[i] if inside[0] else None, predicted[i] if inside[1] else None)
    elif gold != predicted or isinstance(gold, bool) != isinstance(predicted, bool):
        yield Leaf(path, "wrong", gold, predicted)


def _find_differences_at(path: Path, in_gold: bool, in_predicted: bool, gold: Any, predicted: Any) -> Iterator[Leaf]:
    if in_gold and in_predicted:
        yield from find_differences(gold, predicted, path)
    else:
        yield Leaf(path, "missing" if in_gold else "extra", gold, predicted)


def format_path(path: Path) -> str:
    """`orders[0].total`, `['a.b']` for a key that is no plain name; `(root)` for the whole value."""
    text = ""
    for step in path:
        text = f"{text}[{step}]" if isinstance(step, int) else join(text, step)
    return text or "(root)"


def explain_whole(judge: Judge, form: Any) -> list[Cause] | None:
    """Return the causes that together make a wrong tree right."""
    gold = judge.parameters["gold"]
    leaves = []
    for leaf in find_differences(gold, form):
        leaves.append(leaf)
        if len(leaves) > MOST_LEAVES:
            judge.budget.note(f"more than {MOST_LEAVES} values differ and were not searched")
            return None
    of_fields = [_cause_of_field(leaves_of_field) for leaves_of_field in _group_by_field(leaves)]
    whole = [part for part in of_fields if part is not None]
    if not whole or len(whole) < len(of_fields) or not judge.passes(_undo_causes(form, whole)):
        return None
    for part in whole if len(whole) > 1 else ():
        rest = [other for other in whole if other is not part]
        if rest and judge.passes(_undo_causes(form, rest)):
            whole = rest
    return [cause for cause, _ in whole]


def _undo_causes(form: Any, parts: Sequence[tuple[Cause, list[tuple[Path, Any]]]]) -> Any:
    """Return the tree with the values of some causes set."""
    tree = copy.deepcopy(form)
    for _, values in parts:
        for path, value in values:
            tree = put_value(tree, path, value)
    return tree


# In the place of a value: remove it.
GONE: Final = object()


def _group_by_field(leaves: Sequence[Leaf]) -> list[list[Leaf]]:
    """Return the leaves of one field of all records and elements together. Elements to remove come last-first."""
    fields: dict[tuple[Path, str], list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        fields[tuple("[]" if isinstance(step, int) else step for step in leaf.path), leaf.status].append(leaf)
    return [places[::-1] if status == "extra" else places for (_, status), places in fields.items()]


def _cause_of_field(leaves: Sequence[Leaf]) -> tuple[Cause, list[tuple[Path, Any]]] | None:
    """Return (the cause, the values to set) of one field's leaves."""
    first, n = leaves[0], len(leaves)
    where = f"at {format_path(first.path)}"
    if first.status == "missing":
        cause = Cause("field missing", f"{count_words(n, 'field')} of gold missing", where, puts_gold_in=True)
        return cause, [(leaf.path, leaf.gold) for leaf in leaves]
    if first.status == "extra":
        return Cause("field too many", f"{count_words(n, 'field')} that gold does not have", where), [(leaf.path, GONE) for leaf in leaves]
    if not all(is_leaf(leaf.gold) and is_leaf(leaf.predicted) for leaf in leaves):
        return None
    pairs = [Pair(leaf.gold, leaf.predicted, native=True) for leaf in leaves]
    for hypothesis in (hypothesis for hypothesis in ERROR_HYPOTHESES if not hypothesis.partial):
        fixed = hypothesis.fix(pairs)
        if fixed is not None:
            where += f": gold {show(first.gold)}, submitted {show(first.predicted)}"
            says, golds = f"{fixed.says or hypothesis.says}, in {count_words(n, 'value')}", [leaf.gold for leaf in leaves]
            cause = Cause(
                hypothesis.name, says, where, hypothesis=hypothesis, pairs=pairs, column=golds, puts_gold_in=hypothesis.name == "value lost"
            )
            return cause, [(leaf.path, value) for leaf, value in zip(leaves, fixed.values, strict=True)]
    return None


def is_leaf(value: Any) -> bool:
    """Whether a value is a scalar, and neither NaN nor infinite."""
    return not isinstance(value, dict | list) and is_finite(value)


def put_value(tree: Any, path: Path, value: Any) -> Any:
    """Set a value at the path, changing the tree in place; a list that is one short grows."""
    if not path:
        return value
    at = tree
    for step in path[:-1]:
        at = at[step]
    last = path[-1]
    if value is GONE:
        del at[last]
    elif isinstance(at, list) and isinstance(last, int) and last >= len(at):
        at.append(value)
    else:
        at[last] = value
    return tree


Keys = Mapping[str, Any]
MOST_RECORDS: Final = 2000
# A hypothesis that holds for a smaller share or number of a field's wrong values is not reported as a part.
FEWEST, _SHARE = 3, 0.5
# The least rise of the score for a cause, and the share of it that a schema patch has to reach.
_RISE, _AS_MUCH = 1e-6, 0.99
_STEP: Final = re.compile(r"\[(-?\d+)\]|\.?([^.\[\]]+)")
# Schema keys that accept a form that a hypothesis undoes, the narrowest first.
_PATCHES: Final[Mapping[str, Sequence[Keys]]] = {
    "date form": [{"x-eval-compare": {"date": {"locale": locale}}} for locale in ("de", "en-US", "en-GB")] + [{"x-eval-compare": "date"}],
    "number in text": [{"x-eval-compare": {"numeric": {"locale": locale}}} for locale in ("en", "de", "fr")]
    + [{"x-eval-compare": "quantity"}],
    "stored as text": [{"x-eval-compare": "numeric"}, {"x-eval-transform": [{"type_convert": {"to": "str"}}]}],
    "case": [{"x-eval-transform": ["lowercase"]}],
    "spaces": [{"x-eval-transform": ["strip"]}, {"x-eval-transform": ["normalize_whitespace"]}],
    "punctuation": [{"x-eval-compare": "text"}],
    "accents": [{"x-eval-compare": "text"}],
    "rounding": [{"x-eval-compare": {"numeric": {"tolerance": {"rel": rel}}}} for rel in (0.001, 0.01, 0.05)],
}


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A value that differs: its record, its path in it, gold's value."""

    record: int
    steps: Path
    pair: Pair


@dataclass(frozen=True, slots=True)
class _State:
    """The answer and the parameters as repaired so far, and their score."""

    form: Any
    parameters: Keys
    score: float


def explain_tree(judge: Judge, form: Any) -> list[Cause] | None:
    """Return the causes of a wrong tree: of its parts if these make it right or nothing else does; None if nothing is found."""
    parts = _explain_parts(judge, form)
    if parts and parts[-1].scores is not None and parts[-1].scores[1] == 1:
        return parts
    whole = explain_whole(judge, form)
    # Causes of the whole are not named if one of them is not.
    return parts if parts and not all(cause.weigh().is_named for cause in whole or ()) else whole or parts or None


def _explain_parts(judge: Judge, form: Any) -> list[Cause]:
    """Return the causes of parts of a wrong tree, each with its scores; together they need not make the answer right."""
    gold, own_schema = judge.parameters["gold"], judge.parameters.get("schema")
    records = gold if isinstance(gold, list) else [gold]
    if len(records) > MOST_RECORDS or not is_finite(form) or (score := judge.value(form)) is None:
        return []
    schema = as_json_schema(own_schema) if own_schema is not None else infer_schema(records, widen=True, notify=lambda _: None)
    if DEFAULTS in schema:
        annotate_xeval(schema)
    parts = _Parts(judge, schema, [])
    state = start = _State(form, judge.parameters, score)
    if judge.scorer.name == "tree_match":
        state = parts.align_lists(state)
    for find in (parts.exchange_fields, parts.undo_by_hypothesis, parts.synonyms):
        state = find(state)
    return [step.cause for step in parts.necessary(start, state)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One part: its cause, how it changes a state (None where that cannot be scored), and the schema patch that it suggests."""

    cause: Cause
    apply: Callable[[_State], _State | None]
    plain: Cause
    patch: Mapping[str, Keys]


@dataclass(slots=True)
class _Parts:
    """The search of one answer; each part is scored before it is added to `found`."""

    judge: Judge
    schema: dict[str, Any]
    found: list[_Step]

    def necessary(self, start: _State, end: _State) -> list[_Step]:
        """The parts without those whose removal leaves the score at the end as it is, each with the scores before and after it."""
        parts = self.found
        for step in list(parts):
            rest = [other for other in parts if other is not step]
            after = self.replay(start, rest)
            if rest and after is not None and after.score >= end.score - _RISE:
                parts = rest
        if len(parts) == len(self.found):
            return parts
        state, self.found = start, []
        for step in parts:
            after = step.apply(state)
            if after is None:
                break
            plain = (
                replace(step.plain, says=_order_sentence(next(iter(step.patch)), state, after))
                if step.plain.name == "list order"
                else step.plain
            )
            state = self.add(plain, state, after, step.apply, step.patch)
        return self.found

    @staticmethod
    def replay(state: _State, steps: Sequence[_Step]) -> _State | None:
        """The state after some parts, in their order; None where it cannot be scored."""
        for step in steps:
            after = step.apply(state)
            if after is None:
                return None
            state = after
        return state

    def score(self, form: Any, parameters: Keys) -> _State | None:
        """Return the scored state, None if it cannot be scored or the budget is spent."""
        value = replace(self.judge, parameters=parameters).value(form)
        return None if value is None else _State(form, parameters, value)

    def schema_of(self, state: _State) -> dict[str, Any]:
        """Return the schema with the patches so far."""
        patched = state.parameters.get("schema") if state.parameters is not self.judge.parameters else None
        return patched if isinstance(patched, dict) else self.schema

    def patch(self, state: _State, path: str, keys: Keys) -> _State | None:
        """Return the state with keys added to the schema at a path; None for a scorer without such keys."""
        if self.judge.scorer.name != "tree_match":
            return None
        schema = copy.deepcopy(self.schema_of(state))
        node = _node(schema, path)
        if node is None:
            return None
        node.update(copy.deepcopy(dict(keys)))
        return self.score(state.form, {**state.parameters, "schema": schema})

    def add(
        self,
        cause: Cause,
        before: _State,
        after: _State,
        apply: Callable[[_State], _State | None],
        patch: Mapping[str, Keys] | None = None,
    ) -> _State:
        """Add a part with both scores to `found` and return the state after it; a part that is not named stays as it is, with a note."""
        cause = cause.weigh()
        if not cause.is_named:
            self.judge.budget.note(cause.why_not_named)
            return before
        scores = _short(before.score, after.score)
        words = "{} with those before it undone, {} with it undone too" if self.found else "{} as it is, {} with it undone"
        words = words.format(*scores)
        if patch:
            words = f"{words}; schema: {json.dumps(patch, ensure_ascii=False)}"
        where = f"{cause.where}; {words}" if cause.where else words
        scored = replace(cause, where=where, patch=patch or {}, scores=(before.score, after.score))
        self.found.append(_Step(scored, apply, cause, patch or {}))
        return after

    def align_lists(self, state: _State) -> _State:
        """Pair lists by best fit instead of in order, if that raises the score."""
        for path in _lists(self.schema):
            keys = {"x-eval-align": {"match_by": "hungarian"}}
            after = self.patch(state, path, keys)
            if after is None or after.score <= state.score + _RISE:
                continue
            says = _order_sentence(path, state, after)
            rows = [row for _, of in self.compare_records(after) for row in of if row.schema_path.startswith(f"{path}[]")]
            fitting = sum(row.status == "match" for row in rows)
            cause = Cause("list order", says, chance=0.0 if fitting >= 0.8 * len(rows) else 0.05)
            state = self.add(cause, state, after, partial(self.patch, path=path, keys=keys), {path: keys})
        return state

    def compare_records(self, state: _State) -> list[tuple[Any, list[Any]]]:
        """Return (the extracted record, its rows) of each record."""
        gold, form = self.judge.parameters["gold"], state.form
        sides = [side if isinstance(side, list) else [side] for side in (gold, form)]
        id_field = self.judge.parameters.get("id_field")
        if id_field is None:
            n = max(map(len, sides))
            sides = [[*side, *[None] * (n - len(side))] for side in sides]
        scored = evaluate(sides[0], sides[1], self.schema_of(state), id_field, notify=lambda _: None)
        return [(record.extracted, record.field_results) for record in scored.records]

    def find_wrong(self, state: _State) -> tuple[dict[str, list[_Wrong]], Counter[str]]:
        """Return by schema path the values that differ, and how many are compared there."""
        records = state.form if isinstance(state.form, list) else [state.form]
        differing, counts = defaultdict[str, list[_Wrong]](list), Counter[str]()
        for at, (record, rows) in enumerate(self.compare_records(state)):
            # Records that are joined by their ids are in gold's order.
            is_that_record = at < len(records) and records[at] is record
            place = at if is_that_record else next((i for i, other in enumerate(records) if other is record), None)
            for row in rows:
                counts[row.schema_path] += row.status in ("match", "mismatch")
                steps = _steps(row.found_path) if row.status == "mismatch" else None
                if steps is not None and place is not None and is_leaf(row.gold_value) and is_leaf(row.extracted_value):
                    differing[row.schema_path].append(_Wrong(place, steps, Pair(row.gold_value, row.extracted_value, native=True)))
        return dict(differing), counts

    def undo_by_hypothesis(self, state: _State) -> _State:
        """Find fields whose wrong values one hypothesis corrects, all of them or most."""
        wrong, counts = self.find_wrong(state)
        for path, items in wrong.items():
            for hypothesis, some, fixed in _find_holding(items):
                values = list(zip(some, fixed.values, strict=True))
                after = self.put(state, values)
                if after is None or after.score <= state.score + _RISE:
                    continue
                first = some[0].pair
                says = f"{fixed.says or hypothesis.says}, in {len(some)} of {count_words(counts[path], 'value')} of {path!r}"
                where = f"gold {show(first.gold)}, submitted {show(first.predicted)}"
                where = f"{fixed.where}; {where}" if fixed.where else where
                golds = [item.pair.gold for item in items]
                pairs = [item.pair for item in some]
                cause = Cause(
                    hypothesis.name,
                    says,
                    where,
                    hypothesis=hypothesis,
                    pairs=pairs,
                    column=golds,
                    puts_gold_in=hypothesis.name == "value lost",
                )
                patch = next(self.patches(hypothesis, path, state, after), None)
                state = self.add(cause, state, after, partial(self.put, values=values), patch)
                break
        return state

    def patches(self, hypothesis: ErrorHypothesis, path: str, state: _State, undone: _State) -> Iterator[dict[str, Keys]]:
        """Return the schema patches that raise the score as much as undoing the hypothesis in the answer."""
        for keys in _PATCHES.get(hypothesis.name, ()):
            after = self.patch(state, path, keys)
            if after is not None and after.score - state.score >= _AS_MUCH * (undone.score - state.score):
                yield {path: keys}

    def put(self, state: _State, values: Sequence[tuple[_Wrong, Any]]) -> _State | None:
        """Return the state with other values in the answer."""
        form = copy.deepcopy(state.form)
        for item, value in values:
            with suppress(KeyError, IndexError, TypeError):  # a key with a dot in it
                put_value(form, (item.record, *item.steps) if isinstance(form, list) else item.steps, value)
        return self.score(form, state.parameters)

    def exchange_fields(self, state: _State) -> _State:
        """Find two fields of one object whose values are exchanged."""
        wrong, counts = self.find_wrong(state)
        by_place = {path: {(item.record, item.steps[:-1]): item for item in items} for path, items in wrong.items()}
        for first, second in combinations(sorted(wrong), 2):
            if first.rpartition(".")[0] != second.rpartition(".")[0]:
                continue
            together = [(a, b) for place, a in by_place[first].items() if (b := by_place[second].get(place)) is not None]
            both = [(a, b) for a, b in together if (a.pair.predicted, b.pair.predicted) == (b.pair.gold, a.pair.gold)]
            if len(both) < max(1, _SHARE * len(wrong[first])):
                continue
            values = [(a, b.pair.predicted) for a, b in both] + [(b, a.pair.predicted) for a, b in both]
            after = self.put(state, values)
            if after is None or after.score <= state.score + _RISE:
                continue
            says = f"{first!r} and {second!r} are exchanged in {len(both)} of {count_words(counts[first], 'place')}"
            cause = Cause("fields exchanged", says, chance=0.0 if len(both) > 1 else 0.05)
            state = self.add(cause, state, after, partial(self.put, values=values))
        return state

    def synonyms(self, state: _State) -> _State:
        """Find texts that are always replaced by the same other text, more than once: perhaps synonyms."""
        wrong, counts = self.find_wrong(state)
        for path, items in wrong.items():
            texts = [item for item in items if isinstance(item.pair.gold, str) and isinstance(item.pair.predicted, str)]
            confused = Counter((item.pair.gold, item.pair.predicted) for item in texts)
            groups: dict[str, list[str]] = {}
            for (gold, predicted), n in confused.items():
                if n > 1:
                    groups.setdefault(gold, [gold]).append(predicted)
            keys = {"x-eval-compare": {"oneof": {"groups": list(groups.values())}}}
            after = self.patch(state, path, keys) if groups else None
            if after is None or after.score <= state.score + _RISE:
                continue
            n = sum(confused[group[0], word] for group in groups.values() for word in group[1:])
            says = (
                f"other words are used for {count_words(len(groups), 'text')} of {path!r}, in {n} of {count_words(counts[path], 'value')}"
            )
            where = "; ".join(" = ".join(map(show, group)) for group in list(groups.values())[:5])
            cause = Cause("synonyms", says, where, puts_gold_in=True)
            state = self.add(cause, state, after, partial(self.patch, path=path, keys=keys), {path: keys})
        return state


def _find_holding(items: Sequence[_Wrong]) -> Iterator[tuple[ErrorHypothesis, Sequence[_Wrong], Fixed]]:
    """Yield (hypothesis, the values it holds for, what they become): hypotheses for all wrong values of a field first, then for most."""
    pairs = [item.pair for item in items]
    for hypothesis in ERROR_HYPOTHESES:
        if (fixed := hypothesis.fix(pairs)) is not None:
            yield hypothesis, items, fixed
    if len(items) < FEWEST:
        return
    for hypothesis in ERROR_HYPOTHESES:
        some = [item for item in items if hypothesis.fix([item.pair]) is not None]
        if (
            max(FEWEST, _SHARE * len(items)) <= len(some) < len(items)
            and (fixed := hypothesis.fix([item.pair for item in some])) is not None
        ):
            yield hypothesis, some, fixed


def _order_sentence(path: str, before: _State, after: _State) -> str:
    return "matching {!r} in order gives {}, by Hungarian {}".format(path, *_short(before.score, after.score))


def _short(before: float, after: float) -> list[str]:
    """Return two scores with two decimals, or as many as tell them from each other and from 0 and 1."""
    scores, texts = (before, after), list[str]()
    for places in range(2, MOST_PLACES):
        texts = [f"{score:.{places}f}" for score in scores]
        if texts[0] != texts[1] and all(score in (0, 1) or 0 < float(text) < 1 for score, text in zip(scores, texts, strict=True)):
            break
    return ["1" if score >= 1 else text.removeprefix("0") for score, text in zip(scores, texts, strict=True)]


def _lists(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Return the paths of the arrays of a schema that pair their elements in order, outer ones first."""
    for name, sub, items in child_schemas(schema):
        inner = f"{path}[]" if items else f"{path}.{name}" if path else name
        if effective_type(sub)[0] == "array" and not sub.get("x-eval-align", {}).get("match_by") and "x-eval-compare" not in sub:
            yield inner
        yield from _lists(sub, inner)


def _node(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Return the node of a schema at a path of rows; None if it has no node of its own, as behind a reference."""
    at: Any = schema
    for part in filter(None, re.split(r"(\[\])|\.", path)):
        at = at.get("items") if part == "[]" else (at.get("properties") or {}).get(part)
        if not isinstance(at, dict) or "$ref" in at:
            return None
    return at if isinstance(at, dict) else None


def _steps(path: str | None) -> Path | None:
    """Return the keys and indexes of a row's path; None if the answer has no such path."""
    if path is None or "*" in path:
        return None
    return tuple(int(index) if index else key for index, key in _STEP.findall(path))
