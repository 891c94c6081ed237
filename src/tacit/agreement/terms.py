"""The agreement: what every participant signs and every node enforces.

It is canonical JSON: keys sorted, no spaces, integers only. So it has one form, and the SHA-256
of that form names it. Keys and fingerprints are written as lower-case hexadecimal.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal

import msgspec

from tacit.agreement.sealed_run import SealedRun, plans_by_objective
from tacit.disclosure import PARETO, SEALED, parse_best_mode, parse_disclosure
from tacit.equity import RunEquity
from tacit.errors import AgreementError
from tacit.files import other_version
from tacit.mpc import CLUSTER_SIZES, FitnessBound, ParetoWidths, Spec
from tacit.problems import (
    Objective,
    Participant,
    Problem,
    problem_without_weights,
)
from tacit.problems import (
    PublicProblem as PublicProblem,
)

FORMAT: Literal["tacit-agreement/1"] = "tacit-agreement/1"


class _TermsPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts of an agreement have in common: immutable, and no field that we ignore."""


class ParticipantTerms(_TermsPart, frozen=True, omit_defaults=True):
    """A participant and the Ed25519 key that it signs with."""

    name: str
    signing_key: str
    sealing_key: str = ""
    """The X25519 form of the same key, where its part of the plan is sealed to it."""


class NodeTerms(_TermsPart, frozen=True):
    """A node: where it listens, what it signs with, what is sealed to it, and its certificate."""

    host: str
    port: int
    signing_key: str
    sealing_key: str
    """Drawn for this agreement alone; the node deletes its secret half when the agreement ends."""
    certificate: str
    """The SHA-256 of its TLS certificate."""
    sealing_signature: str
    """The node's, under the offer of its sealing key."""


class Ownership(_TermsPart, frozen=True):
    """Which rows of an objective's matrix a participant seals."""

    participant: str
    rows: list[int]


class ObjectiveTerms(_TermsPart, frozen=True):
    """An objective; a public one has no owners, and the digest of its weights instead."""

    name: str
    sense: Literal["maximize", "minimize"]
    scale: int
    weight_bound: int
    confidential: bool
    disclosure: str
    best: Literal["value", "improvement", "nothing"]
    owners: list[Ownership]
    public_weights: str | None = None

    @property
    def spec(self) -> Spec:
        """Return the disclosure as the protocols take it; for a Pareto score, what it shows."""
        return Spec.parse(self.disclosure.removeprefix(f"{PARETO}:"))

    @property
    def together(self) -> bool:
        """Return whether all objectives are evaluated together, and a Pareto score is disclosed."""
        return self.disclosure.startswith(f"{PARETO}:")

    @property
    def sealed(self) -> bool:
        """Return whether the nodes search themselves, so that nothing is evaluated for anybody."""
        return self.disclosure == SEALED

    @property
    def keeps_best(self) -> bool:
        """Return whether each evaluation builds on the best fitness so far."""
        return self.best == "improvement" and not self.sealed and self.spec.kind != "none"


class PinnedSearch(_TermsPart, frozen=True, omit_defaults=True):
    """The search that the nodes make the platform follow, or that it has promised to follow."""

    algorithm: str
    parameters: dict[str, bool | int | str]
    seed: int | None
    """None: the seed is derived from all manifests, so that nobody chooses it."""
    populations: Literal["derived", "chosen"] = "chosen"
    """Whether the nodes derive each population themselves, or evaluate what the platform chooses.

    To derive them they learn what is disclosed. Whoever chooses can learn far more than by
    following the search, so nodes refuse that unless their operators allow it.
    """


class AgreementLimits(_TermsPart, frozen=True):
    """What a node allows at most, or at least."""

    evaluations: int
    population_min: int
    population_max: int
    distinct_min: int
    expires: int
    """Seconds since 1970; from then on nodes refuse."""


class RunOfSeries(_TermsPart, frozen=True, omit_defaults=True):
    """The series that a run belongs to, and its place there."""

    series: str
    """The SHA-256 of the series, in hexadecimal."""
    number: int
    """Runs of a series are counted from 1, and each number is used once."""


OnLoss = Literal["wait", "three"]
PlanFor = Literal["everybody", "owners"]
FrontReveal = Literal["nothing", "plans", "values"]
SAFE_GRACE = 10.0
"""From so many seconds of silence on a node counts as gone. A busy machine, or a peer or platform
that floods it, makes a live node silent for less."""


class AgreedRules(_TermsPart, frozen=True, kw_only=True, omit_defaults=True):
    """The rules that a series fixes for all its runs, and that each agreement repeats."""

    platform: str
    """The SHA-256 of the platform's TLS certificate."""
    search: PinnedSearch
    reveal_best: bool
    """Whether the nodes disclose at the end which of the estimated-best plans is truly best."""
    on_loss: OnLoss = "wait"
    """With four nodes: whether the others go on where one is lost, unchecked from then on."""
    grace_seconds: float = SAFE_GRACE
    """So long a node must give no sign of life before the others go on without it."""
    plan: PlanFor = "everybody"
    """Who learns the plan of a sealed search: all, or each owner its own rows and nobody else."""
    front: FrontReveal = "nothing"
    """What the nodes disclose at the end of objectives that they evaluate together: which plans of
    the last set are non-dominated, with `values` also what each of these is worth."""

    def rules(self) -> dict[str, Any]:
        """Return these rules by name, to repeat them elsewhere."""
        return {name: getattr(self, name) for name in AgreedRules.__struct_fields__}


class Agreement(AgreedRules, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """Everything that the parties have agreed on. `draft_agreement` makes one from a problem."""

    format: Literal["tacit-agreement/1"]
    problem: PublicProblem
    participants: list[ParticipantTerms]
    nodes: list[NodeTerms]
    objectives: list[ObjectiveTerms]
    limits: AgreementLimits
    nonce: str
    series: RunOfSeries | None = None
    """The series that this is a run of: whoever signed that holds this against it."""
    equity: RunEquity | None = None
    """Where those count for more who are behind over the runs of a series."""

    @property
    def largest_factor(self) -> int:
        """Return by how much nodes multiply weights at most before they search."""
        return 1 if self.equity is None else self.equity.terms.rule.largest_factor

    def fitness_bound(self, objective: int) -> FitnessBound:
        terms = self.objectives[objective]
        negate = terms.sense == "minimize"
        bound = terms.weight_bound * self.largest_factor
        return FitnessBound.of_sum(self.known_problem.terms, bound, negate=negate)

    @cached_property
    def known_problem(self) -> Problem:
        """Return the problem with everything but its weights; refused where its kind is unknown.

        Its bounds are those of the weights that are searched, with their factors.
        """
        objectives = tuple(
            Objective(
                terms.name,
                None,
                sense=terms.sense,
                confidential=terms.confidential,
                disclosure=parse_disclosure(terms.disclosure),
                best_mode=parse_best_mode(terms.best),
                scale=terms.scale,
                weight_bound=terms.weight_bound * self.largest_factor,
            )
            for terms in self.objectives
        )
        owners = next((terms.owners for terms in self.objectives if terms.confidential), [])
        participants = tuple(Participant(each.participant, tuple(each.rows)) for each in owners)
        return problem_without_weights(self.problem, objectives, participants, proven=True)

    def confidential(self) -> list[int]:
        """Return the objectives whose weights the nodes hold in shares."""
        return [k for k, terms in enumerate(self.objectives) if terms.confidential]

    def evaluated(self) -> list[int]:
        """Return the confidential objectives whose populations the nodes evaluate for the platform.

        Objectives that are evaluated together are asked for, counted and logged as the first.
        """
        numbers = [k for k in self.confidential() if not self.objectives[k].sealed]
        return numbers[:1] if self.together else numbers

    @property
    def together(self) -> bool:
        """Return whether one evaluation is of all objectives, whose Pareto score is disclosed."""
        return any(terms.together for terms in self.objectives)

    def pareto_widths(self, candidates: int) -> ParetoWidths:
        bounds = [self.fitness_bound(k) for k in range(len(self.objectives))]
        return ParetoWidths(bounds, candidates)

    @property
    def final_reveal(self) -> str | None:
        """Return what nodes disclose once, at the end, as requests name it; None if nothing."""
        if self.front != "nothing":
            return f"front:{self.front}"
        return "top:1" if self.reveal_best else None

    @property
    def sealed(self) -> bool:
        return any(terms.sealed for terms in self.objectives)

    @cached_property
    def sealed_run(self) -> SealedRun:
        """Return what is pinned of a sealed run, or raise an `AgreementError`."""
        search = self.search
        if search.algorithm != SEALED or search.seed is not None:
            raise AgreementError(
                f"the agreement pins the search {search.algorithm!r}; sealed objectives take "
                f"{SEALED!r} with its seed left out"
            )
        return SealedRun.read(
            search.parameters,
            self.known_problem,
            steps=self.limits.evaluations,
            for_owners=self.for_owners,
            opens_value=self.objectives[0].best == "value",
        )

    @property
    def sealed_plans(self) -> int:
        """Return how many plans are opened: one per weighting of a sealed run."""
        return len(self.sealed_run.weightings) if self.sealed else 0

    def plans_of(self, objective: int) -> int:
        """Return of how many of the plans of a sealed run an objective has a say."""
        if not self.sealed:
            return 0
        return plans_by_objective(self.known_problem, self.sealed_run.weightings)[objective]

    @property
    def is_exact(self) -> bool:
        """Return whether plans come with a proof that they are optima, if there is one."""
        return self.sealed and self.sealed_run.is_exact

    @property
    def for_owners(self) -> bool:
        """Return whether participants learn their own parts of the plan, and the platform none."""
        return self.plan == "owners"

    @cached_property
    def _by_name(self) -> dict[str, ParticipantTerms]:
        return {terms.name: terms for terms in self.participants}

    @cached_property
    def _rows(self) -> list[dict[str, list[int]]]:
        return [
            {owner.participant: owner.rows for owner in terms.owners} for terms in self.objectives
        ]

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(canonical(self)).digest()

    def participant(self, name: str) -> ParticipantTerms:
        if name in self._by_name:
            return self._by_name[name]
        raise AgreementError(f"{name!r} is not a participant; choose one that the agreement lists")

    def rows_of(self, name: str, objective: int) -> list[int]:
        """Return the rows that a participant seals for an objective; none if it has none."""
        return self._rows[objective].get(name, [])


# Here, and not at the first call: msgspec looks at a type when it meets it first, and a thread that
# meets a type which another is just looking at crashes the process.
_READ = msgspec.json.Decoder(Agreement)


def canonical(value: msgspec.Struct) -> bytes:
    """Encode a value in its one form as JSON: keys sorted, no spaces.

    >>> canonical(Ownership("north", [0, 1]))
    b'{"participant":"north","rows":[0,1]}'
    """
    return msgspec.json.encode(value, order="sorted")


def agreement_hash(agreement: Agreement) -> bytes:
    return agreement.digest


def read_agreement(data: bytes) -> Agreement:
    """Read an agreement, which must be in its one canonical form."""
    try:
        agreement = _READ.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        other = other_version(data, FORMAT)
        what = f"the agreement {other}" if other else f"this is not a valid agreement ({error})"
        raise AgreementError(f"{what}; draft it again") from None
    # Its hash names the bytes that were signed. With a second form there were two agreements of one
    # content.
    if canonical(agreement) != data:
        raise AgreementError("the agreement is not in canonical form; sort keys, leave out spaces")
    return agreement


COUNTS = dict(zip(CLUSTER_SIZES, ("three", "four"), strict=True))
"""How many nodes there may be, in words."""

_KEPT = {
    3: (
        "Three nodes: one that is curious learns nothing. "
        "All three must follow the protocol and stay up; nobody notices if one computes wrongly."
    ),
    4: (
        "Four nodes: one may do whatever it likes and learns nothing. What it falsifies is noticed "
        "before anything depends on it, and the answer is right or there is none."
    ),
}
_LOST = {
    "wait": "If a node is away, the search waits for it.",
    "three": (
        "If a node gives none of the others a sign of life for {grace:g} s, they go on without it, "
        "once; what three computed is marked, since nobody checked it."
    ),
}
_SHORT_GRACE = (
    " That is short: whoever slows a node down for {grace:g} s, by load or in the network, has the "
    "rest of the run unchecked. Ask for {safe:g} s or more."
)
BROKEN = "Two nodes together, if they break their promise: everything."


def promise_of(nodes: int, /) -> str:
    """Return what holds as long as at most one node breaks its promise.

    >>> promise_of(4).partition(":")[0]
    'Four nodes'
    """
    return _KEPT[nodes]


def loss_words(nodes: int, on_loss: str, /, *, grace: float) -> str:
    """Return what happens if a node is lost, and what a short grace time means.

    >>> loss_words(4, "three", grace=1.0).partition(" That is ")[2]
    'short: whoever slows a node down for 1 s, by load or in the network, has the rest of the run \
unchecked. Ask for 10 s or more.'
    """
    if on_loss == "wait" or nodes == min(CLUSTER_SIZES):
        return _LOST["wait"]
    words = _LOST[on_loss] + (_SHORT_GRACE if grace < SAFE_GRACE else "")
    return words.format(grace=grace, safe=SAFE_GRACE)
