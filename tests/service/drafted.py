"""The agreement that terms lead to, between keys that nobody has."""

from __future__ import annotations

from typing import Any

from tacit.agreement.terms import Agreement
from tacit.client.terms import RunTerms
from tacit.service.workflow.drafting import agreement_of_terms, node_of_nobody
from tacit.service.workflow.terms import stored_terms


def agreement_on(terms: dict[str, Any] | RunTerms) -> Agreement:
    checked = terms if isinstance(terms, RunTerms) else stored_terms(terms)
    keys = {name: f"{number:064x}" for number, name in enumerate(checked.participants, start=50)}
    nonce, platform = f"{1:032x}", f"{99:064x}"
    nodes = [node_of_nobody(i, nonce, platform) for i in (1, 2, 3)]
    return agreement_of_terms(checked, keys=keys, nodes=nodes, platform=platform, nonce=nonce)
