"""`tacit experiment`: run studies, and the paper's whole evaluation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from studies.ablation.study import shipped_ablation
from studies.equity.study import shipped_equity
from studies.evaluation.study import shipped_studies, shipped_study, study_named
from studies.leakage.study import read_leakage_study, shipped_leakage_study
from studies.report.own_engine import (
    LATENCIES_MS,
    QUICK_LATENCIES_MS,
    EngineTimes,
    measure_engine,
    read_engine_times,
)
from studies.running import Finished, StudyProgress, executor, run_study
from studies.study import Study
from studies.together import together_study

from tacit.cli.printing import example, terminal
from tacit.runs import show_duration

app = typer.Typer(no_args_is_help=True, help="Run studies, and the paper's evaluation.")

Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes on this machine. Default: one per core.")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
]
Out = Annotated[Path, typer.Option(help="Where results go; a study has its own folder there.")]


Quick = Annotated[
    bool, typer.Option("--quick", help="The first of everything: seconds or a few minutes.")
]


@app.command(epilog=example("experiment run ap --quick"))
def run(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file (.toml), or ap, tsp, moap-one, moap-two, moap-pareto, sealed-tsp.",
        ),
    ],
    out: Out = Path("out/experiments"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The first instance only, eleven seeds.")
    ] = False,
) -> None:
    """Run a study, or what is left of it: finished runs are never computed twice."""
    chosen = study_named(study)
    chosen = chosen.quick() if quick else chosen
    done = compute(chosen, out, workers, scheduler)
    typer.echo(
        f"{chosen.name}: {done.computed} runs computed, {done.reused} found, in "
        f"{show_duration(done.seconds)}; rows in {done.folder / 'generations.parquet'}"
    )


@app.command(epilog=example("experiment reproduce --quick"))
def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="One instance per class, eleven seeds: two minutes.")
    ] = False,
    out: Out = Path("out/reproduce"),
    latex: Annotated[bool, typer.Option("--latex", help="Also write each table as LaTeX.")] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    engine_times: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Times of our engine as 'tacit bench engine --json' prints them, one object or a "
            "list for several delays. Default: measured here.",
        ),
    ] = None,
) -> None:
    """Run the paper's evaluation and set our figures beside its own: report.html, summary.json."""
    from studies.report import reproduction

    evaluation = reproduction.quick_evaluation() if quick else reproduction.whole_evaluation()
    folder = out / "quick" if quick and out == Path("out/reproduce") else out
    engine = _engine(engine_times, quick=quick)
    with computing(evaluation.studies(), workers, scheduler) as (pool, progress):
        done = reproduction.reproduce(
            evaluation, folder, pool, engine=engine, latex=latex, advance=progress.advance
        )
    least = min(done.outcome.spearman.values())
    state = sum(done.outcome.findings.values())
    typer.echo(
        f"{folder / 'report.html'} after {show_duration(done.seconds)}: "
        f"{state} of {len(done.outcome.findings)} findings hold, "
        f"Spearman at least {least:.2f} in {len(done.outcome.spearman)} columns"
    )


@app.command(epilog=example("experiment leakage --quick"))
def leakage(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Quick = False,
    study: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another study file than the shipped one.")
    ] = None,
) -> None:
    """Attack recorded runs under every disclosure: the tables and plots of docs/leakage.md."""
    chosen = shipped_leakage_study() if study is None else read_leakage_study(study)
    _run_and_tell(chosen, out, workers, scheduler, quick=quick)


@app.command(epilog=example("experiment ablation --quick"))
def ablation(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Quick = False,
) -> None:
    """Genetic algorithm and annealing under the same disclosures at equal time."""
    _run_and_tell(shipped_ablation(), out, workers, scheduler, quick=quick)


@app.command(epilog=example("experiment equity --quick"))
def equity(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Quick = False,
) -> None:
    """Series of runs with balances: the tables and the plot of docs/equity.md."""
    _run_and_tell(shipped_equity(), out, workers, scheduler, quick=quick)


@app.command(epilog=example("experiment together --quick"))
def together(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Quick = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per instance. Default: 31.")
    ] = None,
) -> None:
    """Several objectives in one evaluation beside each apart: GD+, IGD+, tests and effect sizes."""
    _run_and_tell(together_study(seeds=seeds), out, workers, scheduler, quick=quick)


def _run_and_tell(
    study: Study, out: Path, workers: int | None, scheduler: str | None, *, quick: bool
) -> None:
    """Run a study that writes tables and pictures, in full or quick."""
    chosen = study.quick() if quick else study
    done = compute(chosen, out / "quick" if quick else out, workers, scheduler)
    written = sorted(each.name for each in done.folder.iterdir())
    typer.echo(
        f"{done.folder}: {', '.join(written)}; {done.computed} runs computed, {done.reused} found, "
        f"in {show_duration(done.seconds)}"
    )


@app.command("list", epilog=example("experiment list"))
def list_studies() -> None:
    """Show the studies of the package."""
    table = Table(box=None)
    for heading in ("study", "what", "instances", "configurations", "seeds", "runs"):
        table.add_column(heading)
    for name in shipped_studies():
        study = shipped_study(name)
        table.add_row(
            name, study.title, str(len(study.instances)), str(len(study.disclosures)),
            str(study.seeds.count), str(len(study.jobs())),
        )  # fmt: skip
    terminal().print(table)


def compute(study: Study, out: Path, workers: int | None, scheduler: str | None) -> Finished:
    """Run a study with a line that shows how far it is."""
    with computing([study], workers, scheduler) as (pool, progress):
        return run_study(study, out, pool, advance=progress.advance)


@contextmanager
def computing(
    chosen: Sequence[Study], workers: int | None, scheduler: str | None
) -> Iterator[tuple[Executor, StudyProgress]]:
    """Processes to compute studies with, and a line for each that shows how far it is."""
    counts = {study.name: len(set(study.jobs())) for study in chosen}
    progress = StudyProgress(terminal(stderr=True), counts)
    with interruptible(), executor(workers=workers, scheduler=scheduler) as pool, progress:
        yield pool, progress


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a long command with a line that says what becomes of it."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("tacit: interrupted; what is finished is kept, start again to go on", err=True)
        sys.exit(130)


def _engine(file: Path | None, *, quick: bool) -> Callable[[], Sequence[EngineTimes]]:
    if file is None:
        return lambda: measure_engine(QUICK_LATENCIES_MS if quick else LATENCIES_MS)
    times = read_engine_times(file)
    return lambda: times
