"""`tacit solve`: find a plan for one problem."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit.audit import Recorder, record_of_result
from tacit.cli.printing import check_writable, terminal
from tacit.cli.solve_display import LiveProgress, show_result
from tacit.errors import FileError, InputError
from tacit.problems import Problem, load_problem
from tacit.runs import (
    Checkpointing,
    EngineChoice,
    Limits,
    Observer,
    Progress,
    SolveSettings,
    check_plot_name,
    even_weightings,
    parse_changes,
    parse_duration,
    parse_weighting,
    plot_result,
    solve,
    with_disclosures,
)


def check_recordable(problem: Problem, /, *, resume: Path | None, algorithm: str | None) -> None:
    """Refuse to record a run of which nothing could be recorded."""
    if resume is not None:
        raise InputError("a record holds a run from its beginning; leave out --resume or --record")
    if algorithm == "exact" or not any(each.confidential for each in problem.objectives):
        raise InputError("nothing is disclosed in this run, so there is nothing to record")


def observing(*observers: Observer | None) -> Observer | None:
    """One observer for all that are there."""
    watching = [each for each in observers if each is not None]

    def observe(progress: Progress) -> None:
        for each in watching:
            each(progress)

    return observe if watching else None


def parse_disclosures(texts: list[str], /) -> str | dict[str, str] | None:
    """One disclosure for all objectives, or one each by name.

    >>> parse_disclosures(["top:15"]), parse_disclosures(["pay=order", "delay=top:3"])
    ('top:15', {'pay': 'order', 'delay': 'top:3'})
    """
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    by_name: dict[str, str] = {}
    for text in texts:
        # From the right: the name of an objective may contain =, a disclosure does not.
        name, equals, disclosure = text.rpartition("=")
        if not equals or name in by_name:
            raise InputError(
                f"--disclose {text}: with several disclosures each names its objective once, "
                "as in --disclose delay=order"
            )
        by_name[name] = disclosure
    return by_name


def failure_of(save: Callable[[], None], /) -> FileError | None:
    """Save something; return the error, to be raised once the plan is shown."""
    try:
        save()
    except FileError as error:
        return error
    return None


def weightings_asked_for(
    problem: Problem, named: list[str], count: int | None, /
) -> list[tuple[int, ...]] | None:
    """Return the weightings given by name or by number; None for the usual ones."""
    if count is None:
        return [parse_weighting(each) for each in named] or None
    if named:
        raise InputError("--weighting and --weightings exclude each other; give one of them")
    return even_weightings(problem, count)


EPILOG = """
[bold]Examples[/bold]

tacit solve ap.json --disclose top:15 --deadline 30s --seed 1 --out result.json

tacit solve costs.csv --minimize --generations 500 --plot run.png

tacit solve kroD100 --disclose quantiles:20 --deadline 1m --json

tacit solve ap.json --disclose order --nodes cluster.toml --ledger ledger.jsonl

tacit solve ap.json --disclose top:15 --record run.record

tacit solve two.json --disclose delay=order --disclose pay=top:15

tacit solve two.json --disclose pareto:quantiles:20 --deadline 40s

tacit solve ap.json --disclose sealed --deadline 40s

tacit solve ap.json --disclose sealed --set checkpoints=48:64:96 --set gap=10

tacit solve kroD100 --disclose sealed --set parents=4 --deadline 40s

tacit solve ap.json --disclose top:15 --set population=100 --set crossover=order
"""

search_option = partial(typer.Option, rich_help_panel="What to search")
stop_option = partial(typer.Option, rich_help_panel="When to stop")
engine_option = partial(typer.Option, rich_help_panel="Who evaluates")
files_option = partial(typer.Option, rich_help_panel="Files")


def solve_command(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem file (.json), a bare .csv or .npy matrix, a .tsp file, or the name of a shipped instance such as kroD100.",
        ),
    ],
    disclose: Annotated[
        list[str] | None,
        search_option(
            help="What an evaluation reveals: none, order, quantiles:K, buckets:K, top:K, above:P; of several objectives together pareto: before order, quantiles:K or top:K; or sealed (nothing but the plan in the end); for one objective NAME=..., repeatable."
        ),
    ] = None,
    best: Annotated[
        str | None,
        search_option(help="What is disclosed of the best fitness: value, improvement or nothing."),
    ] = None,
    weighting: Annotated[
        list[str] | None,
        search_option(
            help="For a sealed run of several objectives, the factors of one plan, such as 3:1; repeatable."
        ),
    ] = None,
    weightings: Annotated[
        int | None,
        search_option(
            min=2,
            help="In place of --weighting: so many of them, evenly spread; 101 as in the paper.",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        search_option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting that differs from the preset, such as population=100, or iterations=48 of a sealed assignment; repeatable. An unknown name lists all; docs/search.md explains them.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        search_option(
            help="A tuned parameter set: paper-ap, paper-tsp, paper-moap, tuned-ap, tuned-tsp or tuned-pareto. Default: by the kind of problem."
        ),
    ] = None,
    algorithm: Annotated[
        str | None, search_option(help="genetic, nsga2, or exact for public objectives.")
    ] = None,
    seed: Annotated[int, search_option(min=0, help="Random seed.")] = 0,
    deadline: Annotated[
        str | None,
        stop_option(
            help="A time such as 30s, 2m or 500ms, counted from the start of the search. A sealed assignment usually ends earlier."
        ),
    ] = None,
    generations: Annotated[
        int | None,
        stop_option(
            help="Default: 500 if there is no limit. Of a sealed assignment generations and iterations together, as many as it needs by default."
        ),
    ] = None,
    evaluations: Annotated[int | None, stop_option(help="Most populations to evaluate.")] = None,
    target: Annotated[
        float | None, stop_option(help="Stop when the disclosed best reaches this.")
    ] = None,
    stall: Annotated[
        int | None,
        stop_option(help="Stop after this many generations without a better disclosed best."),
    ] = None,
    engine: Annotated[
        str,
        engine_option(
            help="nodes: nodes started on this machine. simulated: the same answers without secrecy."
        ),
    ] = "nodes",
    nodes: Annotated[
        Path | None, engine_option(help="The cluster.toml of nodes elsewhere.")
    ] = None,
    local_nodes: Annotated[
        int,
        engine_option(
            min=3,
            max=4,
            help="How many to start on this machine: 4 notice if one of them computes wrongly.",
        ),
    ] = 3,
    on_loss: Annotated[
        str,
        engine_option(
            help="With four nodes, if one is lost: wait for it, or go on with three, unchecked."
        ),
    ] = "wait",
    reveal_best: Annotated[
        bool,
        engine_option(
            "--reveal-best",
            help="At the end, have the engine disclose which of the best-known plans is truly best.",
        ),
    ] = False,
    front: Annotated[
        str,
        engine_option(
            "--reveal-front",
            help="Of objectives disclosed together (pareto:...), what is told at the end: nothing, which plans of the last set are non-dominated, or their values as well.",
        ),
    ] = "nothing",
    plan: Annotated[
        str,
        engine_option(
            help="Who learns the plan of a sealed run: everybody, or owners, each its own rows."
        ),
    ] = "everybody",
    ledger: Annotated[
        Path | None, engine_option(help="Write everything that the nodes reveal.")
    ] = None,
    minimize: Annotated[
        bool, files_option("--minimize", help="A bare matrix holds costs.")
    ] = False,
    scale: Annotated[
        int | None, files_option(help="Decimals of a bare matrix are multiplied by this.")
    ] = None,
    forbidden: Annotated[
        Path | None, files_option(help="A matrix of 0 and 1 for a bare matrix; 1 forbids the pair.")
    ] = None,
    header: Annotated[
        bool | None,
        files_option(
            "--header/--no-header",
            help="Whether a bare CSV starts with column names; detected by default.",
        ),
    ] = None,
    ids: Annotated[
        bool | None,
        files_option(
            "--ids/--no-ids",
            help="Whether the rows of a bare CSV start with names; detected by default.",
        ),
    ] = None,
    out: Annotated[Path | None, files_option(help="Write the result as JSON.")] = None,
    plot: Annotated[
        Path | None, files_option(help="Draw convergence (and the front) as PNG, SVG or PDF.")
    ] = None,
    record: Annotated[
        Path | None, files_option(help="Write all that the platform sees, for 'tacit audit'.")
    ] = None,
    checkpoint: Annotated[Path | None, files_option(help="Save the run here as it goes.")] = None,
    checkpoint_every: Annotated[int, files_option(help="Generations between checkpoints.")] = 50,
    resume: Annotated[Path | None, files_option(help="Resume from a checkpoint.")] = None,
    json: Annotated[
        bool, files_option("--json", help="Print the result as JSON and nothing else.")
    ] = False,
) -> None:
    """Find a good plan for PROBLEM before the deadline. Ctrl-C returns the best so far."""
    loaded = load_problem(
        problem, minimize=minimize, scale=scale, forbidden=forbidden, header=header, ids=ids
    )
    to_solve = with_disclosures(loaded, parse_disclosures(disclose or []), best)
    limits = Limits(
        generations=generations,
        deadline=None if deadline is None else parse_duration(deadline),
        evaluations=evaluations,
        target=target,
        stall=stall,
    )
    settings = SolveSettings(
        preset=preset,
        changes=parse_changes(change or []),
        algorithm=algorithm,
        weightings=weightings_asked_for(to_solve, weighting or [], weightings),
        checkpointing=Checkpointing(file=checkpoint, every=checkpoint_every, resume=resume),
    )
    # Before the search: a typo in a path must not cost a plan that took minutes.
    for path in (out, plot, checkpoint, ledger, record):
        check_writable(path)
    if plot is not None:
        check_plot_name(plot)
    recorder = None
    if record is not None:
        check_recordable(to_solve, resume=resume, algorithm=algorithm)
        recorder = Recorder()
    console = terminal(stderr=True)
    live = LiveProgress(console, to_solve, limits)
    watched = console.is_terminal and not json
    with live if watched else nullcontext():
        result = solve(
            to_solve,
            limits=limits,
            settings=settings,
            seed=seed,
            engine=EngineChoice(
                engine=engine,
                cluster=nodes,
                local_nodes=local_nodes,
                on_loss=on_loss,
                ledger=ledger,
                reveal_best=reveal_best,
                front=front,
                plan=plan,
            ),
            observe=observing(recorder, live.observe if watched else None),
            announce=live.announce if watched else None,
        )
        # Before anything else happens: the clock runs until the result is written.
        unwritten = None if out is None else failure_of(lambda: result.save(out))
    if record is not None and recorder is not None:
        seen = record_of_result(to_solve, result, recorder, for_owners=plan == "owners")
        unwritten = failure_of(lambda: seen.save(record)) or unwritten
    if json:
        sys.stdout.buffer.write(result.to_json() + b"\n")
        sys.stdout.flush()
    else:
        show_result(result, terminal(), saved_to=None if unwritten else out, plotted_to=plot)
    if plot is not None:
        plot_result(result, plot)
    # Raised last, when the plan has been shown: it is not lost with the file.
    if unwritten is not None:
        raise unwritten
