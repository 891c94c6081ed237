"""`tacit series` as operators type it, on the real server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_run import operator, tacit, world
from tests.service.api.test_series import with_equity
from tests.service.example_terms import plain_terms
from tests.support.command_line import Tacit

__all__ = ["operator", "tacit", "world"]


def test_a_series_is_copied_with_what_differs(tacit: Tacit, operator: str, tmp_path: Path) -> None:
    assert operator
    rule = {"levels": 6, "told": "balance", "every": 3}
    schedule = {"every_minutes": 240}
    written = with_equity(equity=rule, schedule=schedule, varying={"least_rows": 3}, days=7.0)
    file = tmp_path / "terms.json"
    file.write_text(json.dumps(written))
    made = tacit("series", "new", file, "--json")
    assert made.code == 0, made
    first = json.loads(made.out)
    said = tacit("series", "new", "--like", first["id"], "--name", "evening", "--at", "18:00",
                 "--runs-per-day", "2", "--json")  # fmt: skip
    assert said.code == 0, said
    copy = json.loads(said.out)["terms"]
    assert (copy["name"], copy["runs_per_day"], copy["schedule"]["at"]) == ("evening", 2, ["18:00"])
    for same in ("run", "varying", "equity", "days"):
        assert copy[same] == first["terms"][same]
    said = tacit("series", "new", "--like", first["id"], "--no-equity", "--json")
    assert json.loads(said.out)["terms"]["equity"] is None
    assert json.loads(said.out)["terms"]["schedule"] == first["terms"]["schedule"]
    said = tacit("series", "new", "--like", first["id"], "--every", "60", "--at", "18:00")
    assert (said.code, "give one of them" in said.err) == (2, True)


def test_a_series_with_equity_is_made_of_a_run(tacit: Tacit, operator: str, tmp_path: Path) -> None:
    assert operator
    file = tmp_path / "terms.json"
    file.write_text(json.dumps(with_equity()["run"]))
    run = json.loads(tacit("run", "new", file, "--json").out)["id"]
    made = tacit("series", "new", "--like", run, "--equity", "--days", "5", "--json")
    assert made.code == 0, made
    terms = json.loads(made.out)["terms"]
    assert (terms["equity"]["levels"], terms["days"], terms["runs_per_day"]) == (4, 5.0, 1)
    file.write_text(json.dumps(plain_terms()))
    run = json.loads(tacit("run", "new", file, "--json").out)["id"]
    said = tacit("series", "new", "--like", run, "--equity")
    assert (said.code != 0, "at least 3" in said.err) == (True, True), said
