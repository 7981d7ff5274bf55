"""`evalsuite run --samples N`: several answers a question in one submission, a run for each sample, and what they say together."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.cli.run_options import Choice, Gates, Printing, Saving
from evalsuite.cli.showing import ProgressBar, print_document, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from evalsuite.run.asked import Options
    from evalsuite.workers.start import Zygote


def refuse_with_samples(which: Choice, saving: Saving, shown: Printing) -> None:
    """Raise `UsageError` for what is said of one run and cannot be of several."""
    given = {
        "--lf": which.lf,
        "--watch": saving.watch,
        "--exitfirst": saving.exitfirst,
        "--resume": saving.resume is not None,
        "--sign": saving.sign is not None,
        "--github": shown.github,
        "--reference-files": shown.reference_files,
    }
    if names := [name for name, value in given.items() if value]:
        raise UsageError(f"--samples and {names[0]} exclude each other", hint="`evalsuite samples RUN RUN ...` reads runs made one by one")


def score_samples(
    folder: Path, gold: Path, options: "Options", gates: Gates, shown: Printing, n_samples: int, zygote: "Zygote | None"
) -> int:
    """Score each sample as a run of its own (`DIR/sample_1`, ... under --out), show them together; the exit code.

    A gate holds for the mean of all samples; what else makes a run's exit code other than 0, for each of them.
    """
    from evalsuite.board.repeats import samples_of
    from evalsuite.board.sides import side_of
    from evalsuite.reports.samples_document import samples_document
    from evalsuite.reports.words import percent
    from evalsuite.run.scoring import run

    if options.mode is not None:
        raise UsageError("--samples and --mode exclude each other", hint="samples are lines of results_metadata.jsonl")
    name = options.label or folder.resolve().name
    runs = []
    with ProgressBar(hidden=shown.json_ or shown.quiet) as progress:
        for at in range(1, n_samples + 1):

            def so_far(done: int, total: int, before: int = at - 1) -> None:
                progress(before * total + done, n_samples * total)

            own = replace(
                options,
                mode=f"sample {at} of {n_samples}",
                label=f"{name}.sample_{at}",
                out=options.out / f"sample_{at}" if options.out is not None else None,
                metadata={"model_name": name, **options.metadata, "sample": f"{at} of {n_samples}"},
            )
            runs.append(run(folder, gold, own, progress=so_far, zygote=zygote))
    sides = [
        side_of(done.folder.name if done.folder is not None else f"sample_{at}", done.to_json(), done.results)
        for at, done in enumerate(runs, 1)
    ]
    warnings = tuple(dict.fromkeys(warning for done in runs for warning in done.warnings))
    samples = samples_of(sides, notes=warnings)
    mean = samples.models[0].numbers.interval.estimate
    code, line = max((replace(gates, fail_under=0.0).verdict(done) for done in runs), key=lambda verdict: verdict[0])
    gate = runs[0].gold.suite.fail_under if gates.fail_under is None else gates.fail_under
    if code == EXIT_OK:
        line = f"done: {percent(mean)}, the mean of {n_samples} samples ({'no gate set' if gate is None else f'gate {percent(gate)} met'})"
        if gate is not None and mean < gate:
            code, line = EXIT_GATE, f"done: {percent(mean)}, the mean of {n_samples} samples, below the gate of {percent(gate)} (exit 1)"
    document = samples_document(samples)
    code, line = with_lost(code, line, write_all(document, shown.output or ()))
    if shown.json_ or not shown.quiet:
        print_document(document, "json" if shown.json_ else "text")
    if not shown.json_:
        for done in runs:
            if done.folder is not None and not shown.quiet:
                print(clean(f"saved {done.folder}"))
        print(clean(line))
    return code
