"""`tacit tune`: search for settings of the search, with Optuna."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from studies.commands.experiment import Scheduler, interruptible
from studies.evaluation.study import SearchStudy, study_named
from studies.evaluation.time_budget import PAPER_BUDGET
from studies.running import executor, usable_cores
from studies.study import write_whole
from studies.tuning.tune import (
    Tuned,
    held_out_sets,
    held_out_values,
    known_set,
    rows_beside,
    tune,
    tuning_task,
)

from tacit.cli.printing import terminal

EPILOG = """
[bold]Examples[/bold]

tacit tune ap

tacit tune tsp --storage shared/tsp.journal     (on several machines at once)

tacit tune ap --disclose top:15 --budget        (what suits top:15 within the paper's time)

tacit tune sealed-tsp --held-out 11             (a sealed search, all sets within the same time)
"""


def tune_command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file with a \\[tuning] table, or ap, tsp, moap, moap-pareto, sealed-tsp.",
        ),
    ],
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Trials in all, with those in the storage. Default: the study's."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="A journal file or a database address that processes and machines share; "
            "trials in it are continued. Default: out/tune/STUDY.journal."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Sets assessed at a time. Default: one per core.")
    ] = None,
    disclose: Annotated[
        str | None,
        typer.Option(help="Tune under this disclosure. Default: none, or sealed as the study."),
    ] = None,
    budget: Annotated[
        bool,
        typer.Option(
            "--budget",
            help="Only as many generations as the time budget leaves: the study's, or the paper's. "
            "Sealed searches always keep to their study's.",
        ),
    ] = False,
    scheduler: Scheduler = None,
    seed: Annotated[int, typer.Option(min=0, help="Sampler seed.")] = 0,
    held_out: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="RUNS",
            help="Then try the best sets, the preset's and the paper's on the evaluation instances, with this many seeds.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write all trials and the best set as JSON.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print them as JSON instead of the table.")
    ] = False,
) -> None:
    """Tune a study's search as the paper does: random sets first, then a multivariate TPE."""
    chosen = study_named(study)
    if budget and chosen.budget is None:
        chosen = msgspec.structs.replace(chosen, budget=PAPER_BUDGET)
    place = storage or str(Path("out/tune") / f"{chosen.name}.journal")
    task = tuning_task(
        chosen, place, trials=trials, disclosure=disclose, within_budget=budget, sampler_seed=seed
    )
    count = workers or usable_cores()
    console = terminal(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with (
        interruptible(),
        Progress(*columns, console=console) as bar,
        executor(workers=None if scheduler else count, scheduler=scheduler) as pool,
    ):
        line = bar.add_task(task.name, total=task.trials)

        def watch(tuned: Tuned) -> None:
            best = f", best {min(each.total for each in tuned.trials):.4f}" if tuned.trials else ""
            bar.update(line, completed=len(tuned.trials), description=f"{task.name}{best}")

        tuned = tune(task, pool, workers=count, watch=watch)
        held: dict[str, tuple[float, ...]] = {}
        if held_out is not None:
            sets = held_out_sets(chosen, tuned)
            held = held_out_values(chosen, task, sets, pool, runs=held_out)
    content = {"task": task, "best": tuned.best, "held_out": held, "trials": tuned.trials}
    encoded = msgspec.json.encode(content)
    if out is not None:
        write_whole(out, msgspec.json.format(encoded, indent=1) + b"\n")
    if as_json:
        typer.echo(encoded.decode())
        return
    show_tuned(tuned, chosen, terminal())
    for name, values in held.items():
        typer.echo(f"on the evaluation instances, {name}: {', '.join(f'{v:.4f}' for v in values)}")


def show_tuned(tuned: Tuned, study: SearchStudy, console: Console, /) -> None:
    """Print the best set beside the paper's, or the preset's where the paper has none."""
    whose, theirs = known_set(study)
    table = Table(box=None, title=f"{len(tuned.trials)} trials", title_justify="left")
    for heading in ("setting", "ours", whose):
        table.add_column(heading)
    for row in rows_beside(theirs, tuned):
        table.add_row(*row)
    console.print(table)
    for other in tuned.best[1:]:
        values = ", ".join(f"{value:.4f}" for value in other.values)
        console.print(f"also non-dominated ({values}): {other.settings}")
