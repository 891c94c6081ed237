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

import studies
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
    chosen = studies.study_named(study)
    chosen = chosen.quick() if quick else chosen
    count = len(list(chosen.jobs()))
    with computing({chosen.name: count}, workers, scheduler) as (pool, progress):
        done = studies.run_study(
            chosen, out, pool, advance=lambda runs: progress.advance(chosen.name, runs)
        )
    typer.echo(
        f"{chosen.name}: {done.computed} runs computed, {done.reused} found, in "
        f"{show_duration(done.seconds)}; rows in {done.store.generations}"
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
    chosen = studies.paper_studies(quick=quick)
    leakage = studies.shipped_leakage_study().sampled()
    folder = out / "quick" if quick and out == Path("out/reproduce") else out
    if not quick:
        chosen += studies.control_studies(chosen)
    ties = [] if quick else studies.shipped_ties_studies()
    runs = {study.name: len(list(study.jobs())) for study in (*chosen, *ties)}
    runs[leakage.name] = leakage.runs
    ablation = studies.shipped_ablation()
    ablation = ablation.quick() if quick else ablation
    runs[ablation.name] = len(ablation.jobs())
    both_ends = studies.both_ends_study(quick=quick)
    runs[both_ends.name] = len(list(both_ends.jobs()))
    together = studies.together_studies(quick=quick)
    runs |= {each.name: len(list(each.jobs())) for each in together if each.name not in runs}
    with computing(runs, workers, scheduler) as (pool, progress):
        done = studies.reproduce(
            chosen, folder, pool, engine=_engine(engine_times, quick=quick), latex=latex,
            beside=studies.StudiesBeside(
                leakage=leakage, ablation=ablation, ties=ties, both_ends=both_ends,
                together=together,
            ),
            advance=progress.advance,
        )  # fmt: skip
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
    quick: Annotated[
        bool, typer.Option("--quick", help="Four disclosures on one instance, no worst case.")
    ] = False,
    study: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another study file than the shipped one.")
    ] = None,
) -> None:
    """Attack recorded runs under every disclosure: the tables and plots of docs/leakage.md."""
    chosen = studies.shipped_leakage_study()
    if study is not None:
        chosen = studies.read_leakage_study(study)
    chosen = chosen.quick() if quick else chosen
    folder = out / "quick" if quick else out
    with computing({chosen.name: chosen.runs}, workers, scheduler) as (pool, progress):
        done = studies.run_leakage_study(
            chosen, folder, pool, advance=lambda runs: progress.advance(chosen.name, runs)
        )
    typer.echo(
        f"{done.folder}: tables.md, leakage.json, privacy.png and growth.png from "
        f"{len(done.results)} runs, {done.computed} of them computed in "
        f"{show_duration(done.seconds)}"
    )


@app.command(epilog=example("experiment ablation --quick"))
def ablation(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two instances, one budget, three seeds.")
    ] = False,
) -> None:
    """Genetic algorithm and annealing under the same disclosures at equal time."""
    chosen = studies.shipped_ablation()
    chosen = chosen.quick() if quick else chosen
    folder = out / "quick" if quick else out
    with computing({chosen.name: len(chosen.jobs())}, workers, scheduler) as (pool, progress):
        done = studies.run_ablation(
            chosen, folder, pool, advance=lambda runs: progress.advance(chosen.name, runs)
        )
    typer.echo(
        f"{done.folder}: tables.md, ablation.json and gaps.png; {done.computed} runs computed in "
        f"{show_duration(done.seconds)}"
    )


@app.command(epilog=example("experiment equity --quick"))
def equity(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short series, the first of everything.")
    ] = False,
) -> None:
    """Series of runs with balances: the tables and the plot of docs/equity.md."""
    chosen = studies.shipped_equity()
    chosen = chosen.quick() if quick else chosen
    folder = out / "quick" if quick else out
    count = len(chosen.cells()) + len(chosen.audited())
    with computing({chosen.name: count}, workers, scheduler) as (pool, progress):
        done = studies.run_equity(
            chosen, folder, pool, advance=lambda cells: progress.advance(chosen.name, cells)
        )
    typer.echo(
        f"{done.folder}: tables.md, equity.json and spread.png from {count} settings, computed in "
        f"{show_duration(done.seconds)}"
    )


@app.command(epilog=example("experiment together --quick"))
def together(
    out: Out = Path("out"),
    workers: Workers = None,
    scheduler: Scheduler = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The first instance only, eleven seeds.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per instance. Default: 31.")
    ] = None,
) -> None:
    """Several objectives in one evaluation beside each apart: GD+, IGD+, tests and effect sizes."""
    chosen = studies.together_studies(quick=quick, seeds=seeds)
    runs = {study.name: len(list(study.jobs())) for study in chosen}
    folder = out / "quick" if quick else out
    with computing(runs, workers, scheduler) as (pool, progress):
        done = studies.run_together(chosen, folder, pool, advance=progress.advance)
    typer.echo(
        f"{done.folder}: tables.md, together.json, spread.png and fronts.png; {done.computed} runs "
        "computed"
    )


@app.command("list", epilog=example("experiment list"))
def list_studies() -> None:
    """Show the studies of the package."""
    table = Table(box=None)
    for heading in ("study", "what", "instances", "configurations", "seeds", "runs"):
        table.add_column(heading)
    for name in studies.shipped_studies():
        study = studies.shipped_study(name)
        table.add_row(
            name, study.title, str(len(study.instances)), str(len(study.disclosures)),
            str(study.seeds.count), str(len(list(study.jobs()))),
        )  # fmt: skip
    terminal().print(table)


@contextmanager
def computing(
    runs: dict[str, int], workers: int | None, scheduler: str | None
) -> Iterator[tuple[Executor, studies.StudyProgress]]:
    """Processes to compute so many runs of each study with, and a line that shows how far it is."""
    progress = studies.StudyProgress(terminal(stderr=True), runs)
    with (
        interruptible(),
        studies.executor(workers=workers, scheduler=scheduler) as pool,
        progress,
    ):
        yield pool, progress


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a long command with a line that says what becomes of it."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("tacit: interrupted; what is finished is kept, start again to go on", err=True)
        sys.exit(130)


def _engine(file: Path | None, *, quick: bool) -> Callable[[], Sequence[studies.EngineTimes]]:
    if file is None:
        return lambda: studies.measure_engine(
            studies.QUICK_LATENCIES_MS if quick else studies.LATENCIES_MS
        )
    times = studies.read_engine_times(file)
    return lambda: times
