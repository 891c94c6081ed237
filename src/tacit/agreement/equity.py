"""Equity in an agreement: its checks, its public shape, and what a participant learns of itself.

Each node seals its components of a participant's account to it, and the owner adds them up. The
components are of fresh shares, so without those of other nodes they tell nothing. A box stands in
the node's log, whose chain and signature say whose it is.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PublicKey, SealedBox

from tacit.agreement.signatures import sealing_private, sealing_public
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.disclosure import parse_disclosure
from tacit.equity import LEAST_PARTICIPANTS, NEUTRAL, EquityShape, RunFacts, columns_of
from tacit.errors import AgreementError, InputError, SealError
from tacit.mpc import ArithmeticShare, from_ring, held_by
from tacit.problems import Problem, Tour

MOST_EVERY = 1000
_HASH = frozenset("0123456789abcdef")


def check_equity(agreement: Agreement, /, *, offered: bool = True) -> None:
    """Refuse equity that would give balances away, or that cannot be counted.

    Without `offered` it is the pattern of a series, which has no reference plan.
    """
    equity = agreement.equity
    if equity is None:
        return
    _check_disclosure(agreement)
    # A balance is carried from run to run; a run by itself has none.
    if agreement.series is None and offered:
        raise AgreementError("balances are those of a series; equity is for runs of one")
    if len(equity.head) != 64 or not _HASH.issuperset(equity.head):
        raise AgreementError("the head of the counted runs is not a hash; draft again")
    if not 1 <= equity.terms.every <= MOST_EVERY:
        raise AgreementError(f"something is told every 1 to {MOST_EVERY} runs; choose one of these")
    try:
        equity.terms.rule  # noqa: B018 - it checks itself
        equity_shape(agreement)
    except InputError as error:
        raise AgreementError(f"equity: {error}") from error
    if offered:
        _check_reference(agreement.known_problem, equity.reference)


def _check_disclosure(agreement: Agreement) -> None:
    """Whoever sees fitness finds factors: the gcd of differences in an owner's rows is a multiple.

    Of a sealed search nobody sees any. Ranks, and whether the best improved, are the same for all
    costs that order the plans alike.
    """
    terms = agreement.objectives[0]
    if len(agreement.objectives) != 1 or not terms.confidential:
        raise AgreementError(
            "equity is for one confidential objective: of several, what somebody saved depends on "
            "how they are weighed; take one"
        )
    if terms.best == "value":
        raise AgreementError(
            "a disclosed value would tell factors: differences are multiples of them; take "
            "best nothing or improvement"
        )
    if agreement.sealed:
        _check_sealed(agreement)
    else:
        _check_ranked(agreement)
    if agreement.known_problem.between_places:
        _check_ways(agreement)
    if agreement.on_loss != "wait":
        raise AgreementError("balances are counted by all nodes; take on_loss: wait")
    owners = {each.participant for each in terms.owners}
    if len(owners) < LEAST_PARTICIPANTS:
        raise AgreementError(
            f"{len(owners)} participants have rows; balances add up to zero, so equity takes at "
            f"least {LEAST_PARTICIPANTS}"
        )


def _check_sealed(agreement: Agreement) -> None:
    if agreement.sealed_run.gap or agreement.sealed_run.checkpoints:
        raise AgreementError(
            "how far a plan is from the optimum, and when it is proved, follow from factors too; "
            "leave gap and checkpoints out"
        )


def _check_ranked(agreement: Agreement) -> None:
    terms = agreement.objectives[0]
    # The order of plans may be disclosed with factors, whole or in part, and nothing else.
    if not parse_disclosure(terms.disclosure).by_rank:
        raise AgreementError(
            f"disclosure {terms.disclosure} tells how far values are apart, and differences are "
            "multiples of factors; take sealed, top, quantiles or order"
        )
    if agreement.search.populations != "derived":
        raise AgreementError(
            "whoever chooses what is evaluated can try one participant's costs against another's "
            "until the ranks tell factors; let the nodes derive the populations"
        )


def _check_ways(agreement: Agreement) -> None:
    # Everybody knows whose ways a public tour takes.
    problem = agreement.known_problem
    if not isinstance(problem, Tour):
        raise AgreementError(
            "several vehicles leave the depot, whose ways are one participant's; equity is about "
            "assignments and tours"
        )
    if agreement.sealed:
        raise AgreementError(
            "the nodes have a sealed tour by its positions, and do not know whose way leads on "
            "from there; take top, quantiles or order for tours with equity"
        )
    if problem.is_symmetric:
        raise AgreementError(
            "each way is multiplied by the factor of whoever it leaves, so there and back differ; "
            "state that the ways are not symmetric"
        )


def _check_reference(problem: Problem, reference: list[int]) -> None:
    if len(reference) != problem.rows or not all(0 <= c < problem.columns for c in reference):
        raise AgreementError("the reference plan does not give each row a column; give it one")
    fault = problem.fault(np.array([reference], dtype=np.int32))
    if fault is not None:
        raise AgreementError(f"the reference plan {fault[1]}; give another")


def equity_shape(agreement: Agreement, /) -> EquityShape:
    """Return what is public of the stated costs; its participants are those of the agreement."""
    terms, problem = agreement.objectives[0], agreement.known_problem
    place = {each.name: at for at, each in enumerate(agreement.participants)}
    owners = [0] * problem.rows
    for owner in terms.owners:
        for row in owner.rows:
            owners[row] = place[owner.participant]
    forbidden = problem.forbidden
    if isinstance(problem, Tour):
        # None goes on to where it is; what is stated there would be the least of its row.
        forbidden = np.eye(problem.rows, dtype=bool)
    return EquityShape(
        owners,
        columns=problem.columns,
        bound=terms.weight_bound,
        forbidden=forbidden,
        maximize=terms.sense == "maximize",
    )


def owners_by_name(agreement: Agreement, shape: EquityShape, /) -> tuple[str, ...]:
    """Return the names of those who take a step, in the order of the steps."""
    return tuple(agreement.participants[at].name for at in shape.active)


def run_facts(agreement: Agreement, /) -> RunFacts | None:
    """Return what the hooks of a run take of it; None in a run without equity."""
    if agreement.equity is None or agreement.series is None:
        return None
    shape = equity_shape(agreement)
    return RunFacts(
        agreement.series.number,
        agreement.digest.hex(),
        agreement.equity,
        shape,
        owners_by_name(agreement, shape),
        columns_of(agreement.known_problem, agreement.equity.reference),
    )


def plan_digest(agreement: Agreement, plan: Sequence[int], /) -> str:
    """Return the hash that names a public plan of this run in books and logs."""
    numbers = ",".join(str(int(column)) for column in plan)
    return hashlib.sha256(agreement.digest + numbers.encode()).hexdigest()


class _AccountBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """What is in a box: of one run, one node and one participant."""

    agreement: bytes
    node: int
    participant: str
    components: list[bytes]
    """Those that the node holds, in their order."""


_READ_ACCOUNT = msgspec.msgpack.Decoder(_AccountBody)


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """What a participant learns of itself."""

    saved: int
    """What it saved in this run, in 128ths of what it could save."""
    factor: int
    """By which its costs were multiplied in this run."""
    balance: int | None
    """After this run, if that is told."""

    @property
    def level(self) -> int:
        """Return how far the participant was behind: above 0 if it was."""
        return self.factor - NEUTRAL


def seal_told(agreement: Agreement, node: int, told: ArithmeticShare, /) -> list[str]:
    """Seal each participant its part of the account, in hexadecimal."""
    names = owners_by_name(agreement, equity_shape(agreement))
    digest, boxes = agreement_hash(agreement), []
    for at, name in enumerate(names):
        words = [told.parts[c][at].astype("<u8").tobytes() for c in sorted(told.parts)]
        body = msgspec.msgpack.encode(_AccountBody(digest, node, name, words))
        key = sealing_public(agreement.participant(name).signing_key)
        boxes.append(SealedBox(PublicKey(bytes.fromhex(key))).encrypt(body).hex())
    return boxes


def open_told(
    agreement: Agreement,
    name: str,
    boxes: Mapping[int, str],
    /,
    *,
    place: int,
    key: Ed25519PrivateKey,
) -> OwnAccount:
    """Open the boxes of all nodes and add them up; a `SealError` says why not.

    `place` is which of the counted runs it is.

    Of each component what two of its holders say counts: with three nodes that is all of them, with
    four the majority.
    """
    if agreement.equity is None:
        raise AgreementError("the run is of no series with equity; there are no balances")
    telling = agreement.equity.terms.telling(place)
    nodes = len(agreement.nodes)
    said: dict[int, list[bytes]] = {c: [] for c in range(nodes)}
    trouble = ""
    for node, box in boxes.items():
        try:
            words = _open_account(agreement, name, node, box, key)
        except SealError as error:
            trouble = f" ({error})"
            continue
        for component, word in zip(sorted(held_by(node, nodes)), words, strict=True):
            said[component].append(word)
    numbers = np.zeros(telling.numbers, dtype=np.uint64)
    for component, words in said.items():
        word, count = Counter(words).most_common(1)[0] if words else (b"", 0)
        # Of three nodes two hold a component, so both must say the same; of four three do, and two
        # outvote a liar.
        if count < 2 or len(word) != 8 * telling.numbers:
            raise SealError(
                f"no two nodes sealed the same as component {component} of your balance{trouble}; "
                "tell the others"
            )
        numbers += np.frombuffer(word, dtype="<u8")
    found = [int(number) for number in from_ring(numbers)]
    return OwnAccount(found[0], found[1], found[2] if telling.balance else None)


def _open_account(
    agreement: Agreement, name: str, node: int, box: str, key: Ed25519PrivateKey
) -> list[bytes]:
    try:
        body = _READ_ACCOUNT.decode(SealedBox(sealing_private(key)).decrypt(bytes.fromhex(box)))
    except (CryptoError, ValueError, TypeError, msgspec.DecodeError):
        raise SealError(
            f"node {node}: the box with your balance does not open with your key"
        ) from None
    # A box of another run, node or participant must not pass for this one.
    expected = agreement_hash(agreement), node, name
    if (body.agreement, body.node, body.participant) != expected:
        raise SealError(f"node {node}: the box with your balance is of another run, or not yours")
    if len(body.components) != len(agreement.nodes) - 1:
        raise SealError(f"node {node}: the box with your balance lacks a component")
    return body.components
