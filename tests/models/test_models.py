"""The page of the models has every rule and the latest figures; `make models` checks the models."""

from __future__ import annotations

import re
from pathlib import Path

from tests.models.__main__ import PAGE
from tests.models.cases import CASES, Case

MODELS = [*Path(__file__).parent.glob("*.pml"), *Path(__file__).parent.glob("*.h")]
SIZES = {"BALLOTS", "EPOCHS", "PROGRESS", "ALIKE", "DECISIONS_OF_QUORUMS"}
"""What chooses between searches, and leaves out no rule."""
RULES = {each for case in CASES if case.broken for each in case.defines if "=" not in each} - SIZES


def test_each_rule_of_a_model_is_left_out_once() -> None:
    conditions = [
        line
        for path in MODELS
        for line in path.read_text().splitlines()
        if re.match(r"#(if|ifdef|ifndef|elif)\b", line)
    ]
    asked = {name for line in conditions for name in re.findall(r"\b[A-Z_]{3,}\b", line)}
    assert asked - SIZES == RULES
    assert len(RULES) == sum(bool(case.broken) for case in CASES)


def test_the_page_describes_every_rule_and_has_the_latest_figures() -> None:
    text = PAGE.read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)` \| ", text.split("## Rules")[1], re.M)) == RULES
    figures = re.findall(r"^\| (\w+) \| (.+?) \| (holds|broken: .+?) \|", text, re.M)
    outcomes = [f"broken: {each.broken}" if each.broken else "holds" for each in CASES]
    stated = [(each.model, each.title, what) for each, what in zip(CASES, outcomes, strict=True)]
    assert figures == stated


def test_each_outcome_of_spin_is_read_as_the_property_that_it_breaks() -> None:
    case = Case("loss", "safety")
    violated = "pan:1: assertion violated ((three==4)||(three==2)) (at depth 92)"
    assert case.property_of(f"\n{violated}\npan: wrote loss.pml.trail\n") == "one set of three"
    assert case.property_of("pan:1: non-progress cycle (at depth 3)") == "it ends"
