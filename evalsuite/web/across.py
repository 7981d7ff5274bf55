"""What several runs of a suite say together: a leaderboard of those that may be ranked, and 2 to 4 runs side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsuite.store.history import part_asked_for
from evalsuite.store.run_scores import RunScores
from evalsuite.web.query import BadQueryError
from evalsuite.web.shelf import Kept, ShownRun, ShownSuite, stamp_of, value_of

if TYPE_CHECKING:
    from evalsuite.board import Comparison, Side
    from evalsuite.board.ranking import Leaderboard

MOST_RANKED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A leaderboard with the runs behind its rows (`run_ids` in row order), and the signatures that could be ranked instead."""

    signature: str
    board: "Leaderboard"
    run_ids: tuple[str, ...]
    others: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """The board as plain JSON values, each row with the id of its run."""
        board = self.board.to_json()
        rows = [{**row, "run_id": run_id} for row, run_id in zip(board["rows"], self.run_ids, strict=True)]
        others = [{"signature": signature, "num_runs": count} for signature, count in self.others]
        return {**board, "rows": rows, "signature": self.signature, "other_signatures": others}


class Across:
    """Rankings and comparisons, kept as long as the runs behind them do not change."""

    def __init__(self) -> None:
        self._boards = Kept(32)
        self._comparisons = Kept(32)

    def board(self, suite: ShownSuite, signature: str = "") -> Board | None:
        """The leaderboard of the suite's runs under one signature (default: the newest run's), None where there is no run.

        Runs of another signature, or of some instances only, are never mixed in. Raises `BadQueryError` for a signature that no run has.
        """
        alike: dict[str, list[ShownRun]] = {}
        for run in suite.runs:
            # The signature, marked where only some instances were scored: such runs share no ranking with whole ones.
            part = [f"{key}={value}" for key, value in part_asked_for(run.run["options"]).items()]
            alike.setdefault("|".join([str(run.run.get("signature", "")), *part]), []).append(run)
        if not alike:
            return None
        if signature and signature not in alike:
            raise BadQueryError("no run of this suite has that signature", hint="other_signatures lists them")
        chosen = signature or next(iter(alike))
        runs = alike[chosen][:MOST_RANKED]
        others = tuple((name, len(found)) for name, found in alike.items() if name != chosen)
        key = (suite.id, chosen, tuple(run.id for run in runs))
        return self._boards.get(key, _stamp_of_runs(runs), lambda: _ranked_board(chosen, runs, others))

    def comparison(self, runs: Sequence[ShownRun]) -> "Comparison":
        """The first run as baseline against the others; runs that are not comparable are compared with a warning."""
        from evalsuite.board import compare

        key = tuple(run.id for run in runs)
        return self._comparisons.get(key, _stamp_of_runs(runs), lambda: compare(_sides_of(runs), force=True))


def _stamp_of_runs(runs: Sequence[ShownRun]) -> tuple[int, ...]:
    return stamp_of(*(run.folder / "run.json" for run in runs))


def _ranked_board(signature: str, runs: Sequence[ShownRun], others: tuple[tuple[str, int], ...]) -> Board:
    from evalsuite.board.ranking import make_leaderboard
    from evalsuite.memo import Memo
    from evalsuite.run.entries import Entry

    names = told_apart(runs)
    entries = [Entry(name=names[run.id], scores=_run_scores(run), is_run=True) for run in runs]
    board = make_leaderboard(entries, Memo(None))
    by_name = {name: id_ for id_, name in names.items()}
    return Board(signature=signature, board=board, run_ids=tuple(by_name[row.name] for row in board.rows), others=others)


def _run_scores(run: ShownRun) -> RunScores:
    """A run in columns; the raw values of an unbounded metric stand for its scores, or nothing could be ranked."""
    record = run.record()
    results = record.results
    return RunScores(
        folder=str(run.folder),
        signature=str(run.run.get("signature", "")),
        submission_hash="",
        submission=record.submission,
        suite=record.suite,
        rules=record.rules,
        is_whole=True,
        n_instances=int(record.run["gold"].get("n_instances") or 0),
        metadata=run.metadata,
        groups=record.run.get("groups") or {},
        clusters=record.run["gold"].get("clusters") or (),
        ids=[result.instance_id for result in results],
        score=[result.score if run.is_bounded else value_of(result) for result in results],
        official=[result.official for result in results],
        strict=[result.strict for result in results],
        status=[result.status for result in results],
        scorer=[result.scorer for result in results],
    )


def _sides_of(runs: Sequence[ShownRun]) -> "list[Side]":
    from evalsuite.board.sides import side_of

    names = told_apart(runs)
    return [side_of(names[run.id], run.run, run.record().results) for run in runs]


def told_apart(runs: Sequence[ShownRun]) -> Mapping[str, str]:
    """Run id -> its label; its whole name, then its id too, where several share one."""
    labels, names = ([getattr(run, what) for run in runs] for what in ("label", "name"))

    def own(run: ShownRun) -> str:
        if labels.count(run.label) == 1:
            return run.label
        return run.name if names.count(run.name) == 1 else f"{run.name} ({run.id})"

    return {run.id: own(run) for run in runs}
