"""`tacit demo`: everything at once on this machine, to look at."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tacit.cli.printing import terminal

if TYPE_CHECKING:
    from tacit.service import DemoResult

EPILOG = "Example: [bold]tacit demo --deadline 10s[/bold]"


def demo_command(
    deadline: Annotated[str, typer.Option(help="How long to search at most, such as 5s.")] = "20s",
    nodes: Annotated[
        int, typer.Option(min=3, max=4, help="How many: 4 notice if one of them computes wrongly.")
    ] = 3,
    stay: Annotated[
        bool | None,
        typer.Option(help="Keep the dashboard up until Ctrl-C. [only at a terminal]"),
    ] = None,
) -> None:
    """Start nodes, a platform and three airlines, and run one optimization to its plan.

    Everything is temporary. At a terminal the dashboard stays up until Ctrl-C.
    """
    from tacit.agreement import COUNTS, promise_of
    from tacit.runs import parse_duration
    from tacit.service import LocalPlatform, run_demo

    console = terminal(highlight=False)
    # In a script nobody presses Ctrl-C.
    stays = sys.stdout.isatty() and sys.stdin.isatty() if stay is None else stay
    seconds = parse_duration(deadline)
    started = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - started:5.1f} s[/dim]  {text}", soft_wrap=True)

    say(f"starting {COUNTS[nodes]} nodes and the platform")
    with LocalPlatform(nodes=nodes) as platform:
        code = platform.invitation("visitor", role="operator")
        console.print(f"\n  dashboard  [bold]{platform.url}[/bold]")
        console.print(f"  sign in    [bold]{code}[/bold]  (works once)\n", soft_wrap=True)
        result = run_demo(platform, deadline_seconds=seconds, say=say)
        _print_plan(console, result)
        console.print(promise_of(nodes), soft_wrap=True)
        if not stays:
            return
        console.print(
            "\nThe dashboard stays up so that you can look at it (its certificate is its own: let "
            "your browser accept it). Ctrl-C ends everything.",
            soft_wrap=True,
        )
        _until_interrupted()


def _print_plan(console: Console, result: DemoResult) -> None:
    table = Table("flight", "scheduled", "slot", title="The plan", title_justify="left")
    for landing in result.landings:
        table.add_row(*landing)
    console.print()
    console.print(table)
    more = result.cost / result.best_possible - 1 if result.best_possible else 0.0
    when = f"came after {result.seconds:.1f} s"
    # Less would be shown as 0 ms after the deadline.
    if result.late_by_seconds >= 0.0005:
        when = f"came {result.late_by_seconds * 1000:.0f} ms after the deadline"
    console.print(f"Its delay costs {result.cost:,.0f}; it {when}.")
    if result.proved:
        console.print("The nodes proved that no plan is better, without anybody seeing a cost.")
    console.print(
        f"The best possible plan costs {result.best_possible:,.0f}, so this one is {more:.1%} "
        "above; only the demo can know, having made the costs up.",
        soft_wrap=True,
    )


def _until_interrupted() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return
