"""The plans of a result: each once, with its own values and what it was found for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.problems import Problem
from tacit.service.api.shapes.results import Plan


def shown_plan(items: list[int], problem: Problem, /, **known: Any) -> Plan:  # noqa: ANN401
    """A plan in the problem's own names; `known` is what else is known of it."""
    return Plan(items=items, named=problem.named_plan(items), **known)


def distinct_plans(result: Mapping[str, Any], problem: Problem, /) -> list[Plan] | None:
    """The front of a stored result; plans that were found several times are there once.

    Results of older versions have neither values nor weightings.
    """
    front: list[list[int]] | None = result.get("front")
    if front is None:
        return None
    values, weightings = result.get("values") or [], result.get("weightings") or []
    found: dict[tuple[int, ...], Plan] = {}
    for i, items in enumerate(front):
        own = values[i] if i < len(values) else None
        known = own if own and any(value is not None for value in own) else None
        found_for = weightings[i : i + 1] or None
        before = found.get(tuple(items))
        if before is None:
            plan = shown_plan(items, problem, values=known, weightings=found_for)
            found[tuple(items)] = plan
        else:
            _add(before, known, found_for)
    return list(found.values())


def _add(plan: Plan, values: list[float | None] | None, weightings: list[str] | None) -> None:
    """The same plan once more: another weighting may tell the value of another objective."""
    if weightings is not None:
        plan.weightings = [*(plan.weightings or []), *weightings]
    if values is not None:
        before = plan.values or [None] * len(values)
        plan.values = [old if new is None else new for old, new in zip(before, values, strict=True)]
