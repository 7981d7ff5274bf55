"""`evalsuite report`: a saved run in any format, as if it had just ended."""

from evalsuite.cli.options import RUNS
from evalsuite.cli.runs import Folder, RunName
from evalsuite.cli.showing import Showing
from evalsuite.errors import EXIT_GATE, EXIT_OK


def command(run: RunName, shown: Showing, runs: Folder = RUNS) -> int:
    """Show a saved run, or with -o write it to files; the ending of a file says its format."""
    from evalsuite.cli.showing import write_all
    from evalsuite.reports.record import record_of_entry, revealed
    from evalsuite.store.history import one_run

    shown.check()
    record = record_of_entry(one_run(run, runs))
    n_lost = 0
    for path in shown.output or ():
        if write_all(record, [path], shown.reveal):
            n_lost += 1
        else:
            print(f"wrote {path}")
    if not shown.output:
        shown.print(revealed(record, shown.reveal), None)
    return EXIT_GATE if n_lost else EXIT_OK
