"""The progress bar of commands that score."""


class ProgressBar:
    """A bar with rate and time left on stderr; drawn only on a terminal and only once a run takes longer than a second."""

    def __init__(self, *, hidden: bool) -> None:
        import time

        self._hidden = hidden
        self._started = time.monotonic()
        self._bar: object | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]

    def __call__(self, done: int, total: int) -> None:
        import time

        if self._hidden or (self._bar is None and time.monotonic() - self._started < 1):
            return
        if self._bar is None:
            self._bar = _rich_bar(total)
            # Not before the bar is known here: interrupted in the middle of it, its cursor must come back.
            self._bar.start()  # type: ignore[attr-defined]
        self._bar.update(self._bar.task_ids[0], completed=done)  # type: ignore[attr-defined]


def _rich_bar(total: int) -> object:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from evalsuite.cli.showing import console

    class Speed(ProgressColumn):
        """Nothing until two moments are known to take a speed from."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:.{0 if task.speed >= 10 else 1}f}/s")

    bar = Progress(
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        Speed(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )
    bar.add_task("scoring", total=total)
    return bar
