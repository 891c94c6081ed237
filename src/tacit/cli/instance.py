"""`tacit instance`: make problems, look at them, and check their files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.cli.printing import AsJson, command_group, echo_json, terminal
from tacit.disclosure import SEALED, parse_disclosure
from tacit.errors import FileError, InputError, ParameterError, TacitError
from tacit.files import writing
from tacit.problems import (
    Assignment,
    Drawn,
    Objective,
    Problem,
    generate_named,
    ground_truth,
    kind_named,
    load_problem,
    optimum,
    save_participants,
    save_problem,
    shipped_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LARGEST_GROUND_TRUTH = 300
"""A hundred exact solutions of more rows take too long for a look at a file."""


def describe(problem: Problem, /) -> dict[str, Any]:
    """Put a problem into figures, in the user's unit."""
    forbidden = problem.forbidden
    return {
        "name": problem.name,
        "kind": problem.kind,
        "rows": problem.rows,
        "columns": problem.columns,
        "source": problem.source,
        "participants": {p.name: len(p.rows) for p in problem.participants},
        "objectives": [_objective(problem, objective) for objective in problem.objectives],
        "forbidden_share": 0.0 if forbidden is None else float(forbidden.mean()),
        "data": problem.data,
        "optimum": _optimum(problem),
        "ground_truth_size": _ground_truth_size(problem),
    }


def print_description(description: dict[str, Any], console: Console, /) -> None:
    """Print the description as tables for people."""
    d = SimpleNamespace(**description)
    console.print(f"{d.name}: {d.kind}, {d.rows} x {d.columns}", markup=False, highlight=False)
    facts = Table.grid(padding=(0, 2))
    if d.source:
        # Names come from files that others wrote, and Rich would read brackets in them as markup.
        facts.add_row("source", escape(d.source))
    facts.add_row("owners", escape(_owners(d.participants)))
    if not kind_named(d.kind).between_places:
        facts.add_row("forbidden", f"{d.forbidden_share:.1%} of the pairs")
    for name, numbers in d.data.items():
        facts.add_row(name, _numbers(numbers))
    if d.ground_truth_size is not None:
        facts.add_row("ground truth", f"{d.ground_truth_size} plans")
    elif len(d.objectives) == 1:
        facts.add_row("optimum", "unknown" if d.optimum is None else f"{d.optimum:,}")
    console.print(facts)
    table = Table("objective", "sense", "disclosure", "best", "weights", "bound", "scale")
    for o in (SimpleNamespace(**each) for each in d.objectives):
        shown = o.disclosure if o.confidential else "public"
        spread = "with owners" if o.least is None else f"{o.least:,} to {o.most:,}"
        name = escape(o.name)
        table.add_row(name, o.sense, shown, o.best, spread, f"{o.weight_bound:,}", f"{o.scale:,}")
    console.print(table)


def _numbers(numbers: int | list[int]) -> str:
    if isinstance(numbers, int) or len(numbers) <= 8:
        return ", ".join(map(str, [numbers] if isinstance(numbers, int) else numbers))
    return f"{min(numbers)} to {max(numbers)}, {sum(numbers)} in all"


def _owners(participants: dict[str, int]) -> str:
    if len(participants) > 8:
        least, most = min(participants.values()), max(participants.values())
        each = f"{least}" if least == most else f"{least} to {most}"
        return f"{len(participants)}, with {each} rows each"
    return ", ".join(f"{name} ({rows} rows)" for name, rows in participants.items())


def _objective(problem: Problem, objective: Objective) -> dict[str, Any]:
    weights = objective.weights
    if weights is not None and problem.between_places:
        # No way goes from a city to itself, so the diagonal says nothing.
        weights = weights[~np.eye(problem.rows, dtype=np.bool_)]
    return {
        "name": objective.name,
        "sense": objective.sense,
        "confidential": objective.confidential,
        "disclosure": objective.disclosure.text,
        "best": objective.best_mode.value,
        "scale": objective.scale,
        "least": None if weights is None else _in_users_unit(int(weights.min()), objective),
        "most": None if weights is None else _in_users_unit(int(weights.max()), objective),
        "weight_bound": _in_users_unit(objective.weight_bound, objective),
    }


def _in_users_unit(value: int, objective: Objective) -> float:
    return objective.to_user(objective.sign * value)


def _optimum(problem: Problem) -> float | None:
    if len(problem.objectives) > 1:
        return None
    found = optimum(problem)
    return None if found is None else _in_users_unit(found.value, problem.objectives[0])


def _ground_truth_size(problem: Problem) -> int | None:
    known = all(objective.weights is not None for objective in problem.objectives)
    if not isinstance(problem, Assignment) or len(problem.objectives) < 2 or not known:
        return None
    if problem.rows > _LARGEST_GROUND_TRUTH:
        return None
    return len(ground_truth(problem).values)


def plot_problem(problem: Problem, path: Path, /) -> None:
    """Draw a problem to a PNG, SVG or PDF file, without a display."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise FileError(path, None, "pictures are not written in this format", "name a .png file")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TacitError(
            "plots need Matplotlib, which is not installed; run pip install 'tacit[solve]'"
        ) from None
    shown = [o for o in problem.objectives if o.weights is not None]
    has_map = problem.coordinates is not None
    panels = 1 if has_map else len(shown)
    if not panels:
        what = f"the weights of {problem.name} are with its owners"
        raise TacitError(f"{what}, so there is nothing to draw; plot a problem with weights")
    figure = Figure(figsize=(5.5 * panels, 5), layout="constrained")
    # Not pyplot, which looks for a display.
    FigureCanvasAgg(figure)
    for panel in range(panels):
        axes = figure.add_subplot(1, panels, panel + 1)
        if has_map:
            _draw_cities(problem, axes)
        else:
            _draw_weights(problem, shown[panel], axes)
    with writing(path):
        figure.savefig(path, dpi=150)


def _draw_cities(problem: Problem, axes: Axes) -> None:
    if problem.coordinates is not None:
        axes.plot(problem.coordinates[:, 0], problem.coordinates[:, 1], "o", markersize=4)
    axes.set_title(f"{problem.name}, {problem.rows} cities")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.set_aspect("equal")


def _draw_weights(problem: Problem, objective: Objective, axes: Axes) -> None:
    if objective.weights is None or axes.figure is None:
        return
    image = axes.imshow(objective.weights / objective.scale, aspect="auto", cmap="viridis")
    axes.figure.colorbar(image, ax=axes, label=f"{objective.name} ({objective.sense})")
    axes.set_title(f"{problem.name}, {problem.rows} x {problem.columns}")
    axes.set_xlabel("column")
    axes.set_ylabel("row")


def new(
    kind: Annotated[
        Drawn,
        typer.Argument(
            help="ap (one objective), moap (several), tour, delays, capacitated, routing; or an "
            "assignment with structured costs: effects, low-rank, rank-one, euclidean, slots, "
            "sparse, ties."
        ),
    ],
    size: Annotated[
        str,
        typer.Option(
            help="Rows and columns such as 100x100; cities of a tour; places and vehicles, 40x4."
        ),
    ] = "100",
    seed: Annotated[int, typer.Option(help="The same seed gives the same problem.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="File to write, or with --count a folder. [NAME.json]")
    ] = None,
    up_to: Annotated[
        int | None, typer.Option(help="Largest weight, or side of the cities' square. [1000]")
    ] = None,
    objectives: Annotated[
        int | None, typer.Option(help="Number of objectives of a moap. [2]")
    ] = None,
    participants: Annotated[
        int | None, typer.Option(help="Owners, who get rows in blocks. [1; 3 airlines of delays]")
    ] = None,
    participants_dir: Annotated[
        Path | None,
        typer.Option(help="Also write each owner's rows as CSV, and the public rest, to a folder."),
    ] = None,
    disclose: Annotated[
        list[str] | None,
        typer.Option(help="Disclosure such as top:15; once for all objectives or once for each."),
    ] = None,
    count: Annotated[int, typer.Option(help="How many problems to draw.")] = 1,
) -> None:
    """Draw random problems: as in the paper, whole weights uniform on 0..1000, or delay costs."""
    if count < 1:
        raise ParameterError(f"count is {count}; give at least 1")
    if seed < 0:
        raise ParameterError(f"seed is {seed}; give 0 or more")
    if participants_dir is not None and count > 1:
        raise ParameterError("--participants-dir takes one problem; leave --count out")
    # A routing problem cannot be solved sealed, so its plans must be evaluated.
    usual = Problem.usual_disclosure if kind == "routing" else SEALED
    draw = _drawing(kind, size, up_to, objectives, participants, disclose or [usual])
    # One generator for all, so that a larger --count begins with the same problems.
    rng = np.random.Generator(np.random.PCG64(seed))
    for number in range(1, count + 1):
        problem = draw(rng, number)
        typer.echo(_write(problem, out, into_folder=count > 1))
        if participants_dir is not None:
            for path in save_participants(problem, participants_dir):
                typer.echo(path)


def show(
    problem: Annotated[str, typer.Argument(help="A problem file, or the name of a shipped one.")],
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the weights or the cities to a PNG or SVG file.")
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize", help="A bare CSV or .npy holds costs.")
    ] = False,
) -> None:
    """Show size, owners, objectives and the optimum of a problem."""
    loaded = load_problem(problem, minimize=minimize)
    description = describe(loaded)
    if as_json:
        echo_json(description)
    else:
        print_description(description, terminal())
    if plot is not None:
        plot_problem(loaded, plot)


def check(
    files: Annotated[list[str], typer.Argument(help="Problem files.", metavar="FILE...")],
    as_json: AsJson = False,
) -> None:
    """Say of each file whether it is a good problem; exit with 2 if one is not."""
    outcomes = [_check(file) for file in files]
    if as_json:
        typer.echo(json.dumps(outcomes, indent=2, ensure_ascii=False))
    else:
        for outcome in outcomes:
            typer.echo(f"{'ok' if outcome['ok'] else 'error'}  {outcome['message']}")
    if not all(outcome["ok"] for outcome in outcomes):
        raise typer.Exit(InputError.exit_code)


def list_shipped() -> None:
    """List the problems that come with tacit."""
    for name in shipped_names():
        typer.echo(name)


def parse_size(text: str, /) -> tuple[int, int]:
    """Read a size such as 100x100; one number counts for both.

    >>> parse_size("20x30"), parse_size("100")
    ((20, 30), (100, 100))
    """
    found = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", text.strip().lower(), re.ASCII)
    if found is None:
        raise ParameterError(f"{text!r} is not a size; give rows and columns such as 100x100")
    return int(found[1]), int(found[2] or found[1])


def _drawing(
    kind: Drawn,
    size: str,
    up_to: int | None,
    objectives: int | None,
    participants: int | None,
    disclose: list[str],
) -> Callable[[np.random.Generator, int], Problem]:
    """Check that the options fit each other, and return what draws the next problem."""
    rows, columns = parse_size(size)
    disclosures = tuple(parse_disclosure(text) for text in disclose)
    several = _checked_objectives(kind, objectives)
    if kind not in ("ap", "moap") and len(disclosures) > 1:
        raise ParameterError(f"a {kind} problem has one objective; give --disclose once")
    if kind in ("delays", "slots") and up_to is not None:
        raise ParameterError(f"the costs of {kind} follow from the delay; leave --up-to out")
    most = 1000 if up_to is None else up_to

    def draw(rng: np.random.Generator, number: int) -> Problem:
        owners = (3 if kind == "delays" else 1) if participants is None else participants
        return generate_named(
            kind,
            rng,
            rows=rows,
            columns=columns,
            up_to=most,
            participants=owners,
            objectives=several,
            disclosures=disclosures,
            number=number,
        )

    return draw


def _checked_objectives(kind: Drawn, objectives: int | None) -> int:
    if kind != "moap":
        if objectives not in (None, 1):
            raise ParameterError(f"{kind} has one objective; use moap for {objectives}")
        return 1
    if objectives is not None and objectives < 2:
        raise ParameterError(f"a moap has several objectives, not {objectives}; use ap for one")
    return objectives or 2


def _write(problem: Problem, out: Path | None, *, into_folder: bool) -> str:
    if into_folder:
        folder = out or Path()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise ParameterError(f"{folder} cannot be created; name another folder") from None
        path = folder / f"{problem.name}.json"
    else:
        path = out or Path(f"{problem.name}.json")
        if path.suffix.lower() != ".json":
            raise ParameterError(
                f"{path} is not a .json file; name one such as {problem.name}.json"
            )
    save_problem(problem, path)
    return str(path)


def _check(file: str) -> dict[str, object]:
    try:
        problem = load_problem(file)
    except InputError as error:
        # A result and no error, so that the other files are checked as well.
        return {"file": file, "ok": False, "message": str(error)}
    objectives = len(problem.objectives)
    plural = "s" if objectives > 1 else ""
    what = f"{problem.kind} {problem.rows} x {problem.columns}, {objectives} objective{plural}"
    return {"file": file, "ok": True, "message": f"{file}: {what}"}


app = command_group(
    "instance",
    "Make problems, look at them, and check their files.",
    (
        "new",
        new,
        "ap --size 100x100 --seed 1 --out ap.json",
        "moap --size 20x30 --participants 4 --disclose top:15 --out moap.json",
        "tour --size 50 --seed 7 --count 10 --out tours",
        "delays --size 20x30 --participants-dir airlines --out delays.json",
        "slots --size 40x60 --out slots.json",
        "capacitated --size 60x12 --out groups.json",
        "routing --size 40x4 --participants 3 --out routes.json",
    ),
    (
        "show",
        show,
        "kroD100",
        "ap.json --json",
        "weights.csv --minimize --plot weights.png",
    ),
    ("check", check, "ap.json weights.csv", "*.tsp --json"),
    ("list", list_shipped),
)
