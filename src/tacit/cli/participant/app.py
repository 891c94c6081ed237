"""The commands of `tacit participant`, in the order in which its help lists them."""

from __future__ import annotations

import typer

from tacit.cli.participant.following import balance, follow, series
from tacit.cli.participant.keys import keys_app, trust
from tacit.cli.participant.outcome import log, result, watch
from tacit.cli.participant.taking_part import (
    join,
    notify,
    review,
    runs,
    show_budget,
    sign,
    submit,
    withdraw,
)
from tacit.cli.printing import example

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Take part in a run: your costs leave this machine only sealed.",
    epilog="In order: join, trust, runs, review, sign, submit, watch, result, log.",
)
app.add_typer(keys_app, name="keys")
for _command, _name, _example in (
    (series, "series", ""),
    (follow, "follow", "s-abcdefghij --costs costs --results plans"),
    (balance, "balance", "s-abcdefghij"),
    (trust, "trust", "nodes.toml south.toml west.toml"),
    (join, "join", "alice.tacit"),
    (runs, "runs", ""),
    (review, "review", "r-abcdefghij --trust keys.toml --costs costs.csv"),
    (sign, "sign", "r-abcdefghij"),
    (submit, "submit", "r-abcdefghij costs.csv"),
    (show_budget, "budget", ""),
    (withdraw, "withdraw", 'r-abcdefghij --reason "wrong rows"'),
    (result, "result", "r-abcdefghij --costs costs.csv"),
    (notify, "notify", "--mail me@example.org"),
    (watch, "watch", "r-abcdefghij --timeout 1h"),
    (log, "log", "r-abcdefghij"),
):
    _epilog = example(f"participant {_name} {_example}".strip())
    app.command(_name, epilog=_epilog)(_command)
