"""The agreement that terms lead to, between keys that nobody has."""

from __future__ import annotations

from typing import Any

from tacit.engine.agreement.terms import Agreement, NodeTerms
from tacit.service.api.terms import RunTerms
from tacit.service.workflow.drafting import agreement_of_terms


def agreement_on(terms: dict[str, Any]) -> Agreement:
    checked = RunTerms.model_validate(terms)
    keys = {name: f"{number:064x}" for number, name in enumerate(checked.participants, start=50)}
    nodes = [NodeTerms("localhost", 1, *(f"{3 * i + k:064x}" for k in range(3))) for i in (1, 2, 3)]
    return agreement_of_terms(checked, keys=keys, nodes=nodes, platform=f"{99:064x}")
