"""The parties of a plan for its owners, in memory: agreement, keys, and what nodes seal."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement import pin_sealed
from tacit.agreement.draft import draft_agreement
from tacit.agreement.plan_parts import (
    CarriedPart,
    OwnPart,
    PlanContext,
    SealedParts,
    carried_parts,
    put_together,
    seal_plan,
)
from tacit.agreement.terms import Agreement, AgreementLimits, PlanFor
from tacit.identity.keys import Keys
from tacit.local.engine import participant_keys, public_keys
from tacit.mpc import deal
from tacit.mpc.shares import ArithmeticShare
from tacit.problems import Problem, generate_assignment
from tacit.search.moves import AssignmentParameters, SealedParameters
from tests.on_nodes.fixtures import offered_by
from tests.on_nodes.sealed_agreed_cluster import sealed, settings_for


@dataclass(frozen=True)
class OwnersCast:
    """Everybody's secrets, and one plan."""

    participants: dict[str, Ed25519PrivateKey]
    nodes: tuple[Keys, ...]
    agreement: Agreement
    plan: list[int]
    attempt: str = "9:1:1"
    members: tuple[int, ...] = ()

    @property
    def context(self) -> PlanContext:
        members = self.members or tuple(range(len(self.nodes)))
        return PlanContext(self.agreement.digest, 0, self.attempt, members)

    def shares(self) -> dict[int, ArithmeticShare]:
        """Per member what it holds of the plan."""
        word = self.agreement.sealed_run.group_of(0).word
        members = self.context.members
        dealt = deal(np.array(self.plan, dtype=word), nodes=len(members))
        return dict(zip(members, dealt, strict=True))

    def sealed(self, shares: dict[int, ArithmeticShare] | None = None) -> list[SealedParts | None]:
        """What each node seals, honestly, of these shares or fresh ones."""
        context, made = self.context, shares or self.shares()
        keys = {c: secrets.token_bytes(32) for c in range(len(context.members))}
        return [
            seal_plan(self.agreement, context, node, made[node].parts, keys, signing=each.signing)
            if node in made
            else None
            for node, each in enumerate(self.nodes)
        ]

    def own(self, name: str, parts: list[CarriedPart]) -> OwnPart:
        return put_together(self.agreement, 0, name, parts, key=self.participants[name])

    def parts(self, name: str, sealed: list[SealedParts | None]) -> list[CarriedPart]:
        names = [each.name for each in self.agreement.participants]
        return carried_parts(sealed, names.index(name))

    def rows(self, name: str) -> dict[int, int]:
        """What a participant should learn."""
        return {row: self.plan[row] for row in self.agreement.rows_of(name, 0)}

    def lost(self, node: int) -> OwnersCast:
        """The same after three went on without a node."""
        left = tuple(k for k in range(len(self.nodes)) if k != node)
        return replace(self, members=left)


def owners_cast(
    nodes: int = 3,
    *,
    problem: Problem | None = None,
    plan: list[int] | None = None,
    on_loss: str = "wait",
    parameters: SealedParameters | None = None,
    plan_for: PlanFor = "owners",
    **changes: Any,
) -> OwnersCast:
    """Everybody of a sealed run; `changes` are those of its agreement."""
    made = sealed(problem or generate_assignment(1, rows=6, columns=8, participants=3))
    keys = tuple(Keys.new(f"node {i}") for i in range(nodes))
    participants = participant_keys(each.name for each in made.participants)
    nonce, platform = secrets.token_hex(16), f"{9:064x}"
    parameters = parameters or settings_for(made)
    steps = parameters.steps if isinstance(parameters, AssignmentParameters) else 10
    weightings = changes.pop("weightings", [(1,) * len(made.objectives)])
    agreement = draft_agreement(
        made,
        participants=public_keys(participants),
        nodes=[
            offered_by(each, X25519PrivateKey.generate(), i, nonce=nonce, platform=platform)
            for i, each in enumerate(keys)
        ],
        platform=platform,
        nonce=nonce,
        search=changes.pop("search", pin_sealed(parameters, weightings)),
        limits=AgreementLimits(changes.pop("evaluations", steps), 1, 1, 1, int(time.time()) + 3600),
        on_loss="three" if on_loss == "three" else "wait",
        plan=plan_for,
        **changes,
    )
    return OwnersCast(participants, keys, agreement, plan or [3, 0, 7, 2, 5, 1])
