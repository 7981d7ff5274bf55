"""Parameters of a table check out of example answers: the strictest ones that accept every good answer and refuse every bad one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsuite.errors import FaultError, UsageError
from evalsuite.readers.answer_forms import read_pair
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.scorers import SCORERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The parameters, what the examples leave open in sentences, and the good ones refused and bad ones accepted all the same."""

    parameters: Mapping[str, Any]
    open: tuple[str, ...]
    refused_good: tuple[str, ...] = ()
    accepted_bad: tuple[str, ...] = ()


def examples_of(folder: Path | None, id_: str) -> list[Path]:
    """The example answers of an instance: `DIR/ID.csv`, `DIR/ID_*.csv`, and every CSV in `DIR/ID/`."""
    if folder is None:
        return []
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="example answers lie in it as ID.csv, ID_*.csv or ID/*.csv")
    return sorted({*folder.glob(f"{id_}.csv"), *folder.glob(f"{id_}_*.csv"), *(folder / id_).glob("*.csv")})


def infer_parameters(gold: Path, good: Sequence[Path], bad: Sequence[Path]) -> Inferred:
    """Whether order counts and which columns do, judged by the scorer itself under official rules.

    Strictest first: all columns in order, all in any order, then the columns alone that every good answer has. Raises `UsageError`.
    """
    names = read_named_rows(gold)[0]

    def accepts(answer: Path, **parameters: Any) -> bool:
        try:
            prediction, read = read_pair("table", str(answer), {"gold": str(gold), **parameters})
            return SCORERS.load("table_match").score(prediction, **{**parameters, **read}).official == 1
        except FaultError:
            return False

    def separates(parameters: Mapping[str, Any]) -> bool:
        return all(accepts(one, **parameters) for one in good) and not any(accepts(one, **parameters) for one in bad)

    shared = [at for at in range(len(names)) if all(accepts(one, condition_cols=[at], ignore_order=True) for one in good)]
    plans = list(_plans(len(names), shared))
    fitting = [plan for plan in plans if all(accepts(one, **plan) for one in good)]
    chosen = next((plan for plan in fitting if separates(plan)), fitting[0] if fitting else plans[-1])
    return Inferred(
        parameters=chosen,
        open=tuple(_left_open(chosen, names, separates)) if separates(chosen) else (),
        refused_good=tuple(str(one) for one in good if not accepts(one, **chosen)),
        accepted_bad=tuple(str(one) for one in bad if accepts(one, **chosen)),
    )


def _plans(n_columns: int, shared: Sequence[int]) -> Iterator[dict[str, Any]]:
    chosen: list[list[int]] = [[]]
    if shared and len(shared) < n_columns:
        chosen.append(list(shared))
    for columns in chosen:
        for ignore_order in (False, True):
            yield {"ignore_order": ignore_order, **({"condition_cols": columns} if columns else {})}


def _left_open(chosen: Mapping[str, Any], names: Sequence[str], separates: Any) -> Iterator[str]:
    """What other parameters would do as well by these examples."""
    if separates({**chosen, "ignore_order": not chosen["ignore_order"]}):
        yield f"order: no example tells whether it counts; ignore_order is {str(chosen['ignore_order']).lower()}"
    columns = list(chosen.get("condition_cols") or range(len(names)))
    free = [at for at in columns if len(columns) > 1 and separates({**chosen, "condition_cols": [one for one in columns if one != at]})]
    if free:
        yield f"columns: no bad example is wrong in {', '.join(repr(names[at]) for at in free)} alone; all of them count"
