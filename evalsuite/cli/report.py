"""`evalsuite report`: a saved run in any format, as if it had just ended."""

from evalsuite.cli.runs import RUNS, Folder, RunName
from evalsuite.cli.showing import Durations, Failures, Outputs, Reveal, Verbose
from evalsuite.errors import EXIT_GATE, EXIT_OK


def command(
    run: RunName,
    output: Outputs = None,
    reveal: Reveal = None,
    verbose: Verbose = False,
    failures: Failures = False,
    durations: Durations = 0,
    runs: Folder = RUNS,
) -> int:
    """Show a saved run, or with -o write it to files; the ending of a file says its format."""
    from evalsuite.cli.showing import check_showing, print_record, write_all
    from evalsuite.reports.record import of_entry, revealed
    from evalsuite.store.history import one_run

    check_showing(output or (), reveal)
    record = of_entry(one_run(run, runs))
    n_lost = 0
    if output:
        for path in output:
            if write_all(record, [path], reveal):
                n_lost += 1
            else:
                print(f"wrote {path}")
    else:
        print_record(revealed(record, reveal), None, verbose=verbose, failures=failures, durations=durations)
    return EXIT_GATE if n_lost else EXIT_OK
