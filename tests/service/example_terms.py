"""Terms of a small run, the agreement that they lead to, and its reports."""

from __future__ import annotations

from typing import Any

import msgspec

from tacit.agreement.terms import Agreement
from tacit.client import RunProgress, converted
from tacit.client.models import RunView
from tacit.client.terms import RunTerms
from tacit.service.workflow.drafting import agreement_of_terms, placeholder_parties


def example_terms() -> RunTerms:
    """Four flights of two airlines in four slots."""
    return msgspec.convert(
        {
            "name": "morning",
            "problem": {"name": "slots", "kind": "assignment", "rows": 4, "columns": 4},
            "objectives": [
                {
                    "name": "delay",
                    "sense": "minimize",
                    "weight_bound": 1000,
                    "disclosure": "top:5",
                }
            ],
            "participants": {"north": [0, 1], "south": [2, 3]},
            "preset": "tuned-ap",
            "parameters": {"population": 20, "elites": 2, "tournament": 4},
            "limits": {"evaluations": 500},
            "deadline_seconds": 5,
        },
        RunTerms,
    )


def plain_terms() -> dict[str, Any]:
    """The same as JSON has them."""
    terms: dict[str, Any] = msgspec.to_builtins(example_terms())
    return terms


def run_about(terms: RunTerms | None = None, /, **known: Any) -> RunView:
    """A run as the API shows it; `known` is what differs from a draft that nobody has joined."""
    summary: dict[str, Any] = {
        "id": "r-1",
        "name": "morning",
        "state": "draft",
        "reason": None,
        "created": 0.0,
        "running_since": None,
        "deadline_at": None,
        "ended": None,
        "generation": None,
        "best": None,
        "reported_at": None,
        "series": None,
        "series_number": None,
        "kind": "assignment",
        "disclosures": ["top:5"],
        "participants": 2,
        "joined": 0,
        "signed": 0,
        "accepted": 0,
    }
    whole: dict[str, Any] = {
        "terms": terms or example_terms(),
        "members": [],
        "cluster": None,
        "agreement_hash": None,
        "progress": None,
        "warnings": [],
        "created_by": "op",
    }
    return RunView(**{**summary, **whole, **known})


def agreement_on(terms: dict[str, Any] | RunTerms) -> Agreement:
    """The agreement that terms lead to, between keys that nobody has."""
    checked = terms if isinstance(terms, RunTerms) else converted(terms, RunTerms)
    keys = {name: f"{number:064x}" for number, name in enumerate(checked.participants, start=50)}
    return agreement_of_terms(checked, placeholder_parties(keys, nodes=3))


def progress_at(generation: int) -> RunProgress:
    """A report of a run that gets better by 1 each generation."""
    return RunProgress(
        generation=generation,
        evaluations=generation + 1,
        evaluations_per_second=10.0,
        best=[90.0 - generation],
        seconds=generation / 10,
    )
