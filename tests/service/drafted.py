"""The agreement that terms lead to, between keys that nobody has."""

from __future__ import annotations

from typing import Any

from tacit.engine.agreement.terms import Agreement
from tacit.service.api.terms import RunTerms
from tacit.service.workflow.drafting import agreement_of_terms, node_of_nobody


def agreement_on(terms: dict[str, Any]) -> Agreement:
    checked = RunTerms.model_validate(terms)
    keys = {name: f"{number:064x}" for number, name in enumerate(checked.participants, start=50)}
    nonce, platform = f"{1:032x}", f"{99:064x}"
    nodes = [node_of_nobody(i, nonce, platform) for i in (1, 2, 3)]
    return agreement_of_terms(checked, keys=keys, nodes=nodes, platform=platform, nonce=nonce)
