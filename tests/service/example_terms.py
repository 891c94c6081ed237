"""Terms of a small run."""

from __future__ import annotations

from tacit.service.api.terms import RunTerms


def example_terms() -> RunTerms:
    """Four flights of two airlines in four slots."""
    return RunTerms.model_validate(
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
        }
    )
