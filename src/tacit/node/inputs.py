"""Keep the participants' inputs of one agreement: take them, check them, freeze them for good.

::

    submitted    InputTaken: the box is on the disk; only a later version replaces it
    frozen       InputsFrozen: what the nodes have decided on; no input changes again, and each node
                 is bound to its contribution
    drawn        SeedDrawn: all contributions are open, the seed of the search is fixed

Freezing comes before the draw, and neither happens twice. Otherwise whoever sees a contribution
could still change an input, and choose among seeds.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from threading import Lock

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.sealing import (
    Manifest,
    box_hash,
    commitment_to,
    manifests_digest,
    open_box,
    read_manifest,
    search_seed,
)
from tacit.errors import EngineError, RefusedError
from tacit.mpc import ArithmeticShare, held_by
from tacit.node.policy import check_still_valid, refuse
from tacit.node.store import (
    Store,
    Stored,
    StoredInput,
    decoder_of,
    encode_stored,
)
from tacit.records.events import InputsFrozen, InputTaken, SeedDrawn
from tacit.records.log import FreezingEvent, FrozenInputs, frozen_after
from tacit.records.messages import RefusalKind, Submit


class StoredWeighted(Stored, frozen=True, tag="weighted/1"):
    """Shares of factors, and of the weights times these, as a file has them."""

    attempt: str
    factors: ArithmeticShare
    weights: ArithmeticShare


_READ_WEIGHTED = decoder_of(StoredWeighted)


class Weighted:
    """Shares of one run's weights times their owners' factors: what is searched.

    The name of the computation that they come from is part of what all nodes must agree on before
    they compute with them.
    """

    def __init__(self, store: Store, /) -> None:
        self._store = store
        stored = self._load()
        self.attempt = "" if stored is None else stored.attempt
        """The computation that they come from; empty while there are none."""
        self._weights: ArithmeticShare | None = None

    def _load(self) -> StoredWeighted | None:
        data = self._store.load_state("weighted")
        return _READ_WEIGHTED.decode(data) if data else None

    def _stored(self) -> StoredWeighted:
        stored = self._load()
        if stored is None:
            raise refuse("the weights have no factors yet; have the inputs prepared first")
        return stored

    def forget(self) -> None:
        """Delete the shares, before others are computed.

        A crash in the middle then leaves none, and not those of another attempt than at the peers.
        """
        if self.attempt:
            self._store.save_state("weighted", b"")
        self.attempt, self._weights = "", None

    def keep(self, attempt: str, factors: ArithmeticShare, weights: ArithmeticShare, /) -> None:
        stored = StoredWeighted(attempt, factors, weights)
        self._store.save_state("weighted", encode_stored(stored))
        self.attempt, self._weights = attempt, weights

    def weights(self) -> ArithmeticShare:
        weights = self._weights
        if weights is None:
            self._weights = weights = self._stored().weights
        return weights

    def factors(self) -> ArithmeticShare:
        return self._stored().factors

    def drop(self) -> None:
        """Free the memory; the shares are read again when they are needed."""
        self._weights = None


def frozen_value(manifests: str, commitments: Sequence[str], /) -> str:
    """What nodes vote on: the hash of all owners' manifests, and what binds the nodes."""
    return ":".join([manifests, *commitments])


def read_frozen_value(value: str, /) -> tuple[str, list[str]]:
    """Return the hash of the manifests, and what binds the nodes."""
    manifests, *commitments = value.split(":")
    return manifests, commitments


def _other_contribution(node: int) -> RefusedError:
    return refuse(
        f"node {node} is bound to another contribution to the seed than when the inputs were "
        "frozen here: its disk was set back, or exchanged; restore it, or make a new agreement"
    )


class Inputs:
    """The inputs of all confidential objectives."""

    def __init__(self, store: Store, *, node: int, key: X25519PrivateKey | None) -> None:
        self._store, self._agreement = store, store.agreement
        self._node, self._key = node, key
        self._objectives = self._agreement.confidential()
        self._weights: dict[int, ArithmeticShare] = {}
        self._keeping = Lock()
        """Held while opened shares go into memory or are erased from it.

        A thread that opens boxes while the agreement ends would keep the shares after the erasure.
        """
        self.frozen: dict[int, FrozenInputs] = {}
        """The objectives whose inputs never change again."""
        self.seed_contributions: dict[int, str] = {}
        """Per frozen objective, what the nodes drew together for the search's seed."""
        self._drawn: dict[int, list[bytes]] = {}
        """Per objective whose seed is drawn, the contributions of all nodes."""
        self.accepted: dict[int, str] = {}
        """Per objective, what was checked last and may be voted for."""
        self.preparing = asyncio.Lock()
        """Held during the check of inputs, so that what is frozen is what was checked."""
        self.weighted = None if self._agreement.equity is None else Weighted(store)
        """The weights with their factors, in a series with equity."""

    @property
    def ready(self) -> list[int]:
        """The objectives that can be searched: frozen, drawn, and with factors if equity counts."""
        if self.weighted is not None and not self.weighted.attempt:
            return []
        return sorted(self.seed_contributions)

    def replay(self, event: FreezingEvent) -> None:
        """Restore the state from a line of the log, when the node starts."""
        k = event.objective
        self.frozen[k] = frozen_after(self._agreement, self.frozen.get(k), event)
        if isinstance(event, SeedDrawn):
            self.seed_contributions[k] = self.frozen[k].seed_contribution
            self._drawn[k] = [bytes.fromhex(each) for each in event.contributions]

    def check_frozen_files(self) -> None:
        for objective, frozen in self.frozen.items():
            for stored in self._checked(objective).values():
                manifest = read_manifest(self._agreement, stored.manifest, stored.signature)
                if box_hash(stored.box) != manifest.boxes[self._node]:
                    raise _changed("sealed rows", objective)
            if frozen.commitments and not frozen.seed_contribution:
                drawn = self._store.contribution(objective) or b""
                if self._commitment(objective, drawn).hex() != frozen.commitments[self._node]:
                    raise _changed("contribution to the seed", objective)

    def _checked(self, objective: int) -> dict[str, StoredInput]:
        """The sealed rows that are here; an error if others than these were frozen."""
        inputs, frozen = self._store.inputs(objective), self.frozen.get(objective)
        if frozen is not None and _digest(inputs) != frozen.manifests:
            raise _changed("sealed rows", objective)
        return inputs

    def examine(self, message: Submit) -> Manifest | None:
        """Open and check sealed rows, in a thread; None if the same ones are here already."""
        check_still_valid(self._agreement, time.time())
        manifest = read_manifest(self._agreement, message.manifest, message.signature)
        who, objective = manifest.participant, manifest.objective
        stored = StoredInput(message.manifest, message.signature, message.box)
        earlier = self._store.input(objective, who)
        if earlier == stored:
            return None
        self._check_takes(manifest, earlier)
        self._open(manifest, message.box)
        return manifest

    def _check_takes(self, manifest: Manifest, earlier: StoredInput | None) -> None:
        """Refuse rows of frozen inputs, and all but a later version in place of what is here."""
        who, objective = manifest.participant, manifest.objective
        if objective in self.frozen:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        if earlier is None:
            return
        here = read_manifest(self._agreement, earlier.manifest, earlier.signature).version
        if manifest.version <= here:
            raise refuse(
                f"version {here} of the rows of {who!r} is here already, and version "
                f"{manifest.version} does not replace it; let it seal again if they were refused",
                kind=RefusalKind.OTHER_ROWS,
                participants=[who],
            )

    def keep(self, message: Submit, manifest: Manifest, *, voted: bool = False) -> None:
        """Keep rows that were examined, unless the inputs were frozen or erased meanwhile.

        What this node has `voted` on may be decided on, and is not replaced.
        """
        # `examine` ran in a thread, so its checks are repeated here, on the event loop.
        who, objective = manifest.participant, manifest.objective
        if self._key is None:
            raise refuse("the agreement has ended, and its inputs are deleted; make a new one")
        earlier = self._store.input(objective, who)
        self._check_takes(manifest, earlier)
        if earlier is not None and voted:
            raise refuse(
                f"the nodes vote on the inputs of objective {objective}; nothing replaces them now",
                kind=RefusalKind.OTHER_ROWS,
                participants=[who],
            )
        stored = StoredInput(message.manifest, message.signature, message.box)
        self._store.save_input(objective, who, stored)
        self._changed(objective)
        self._store.log.append(InputTaken(objective, who, manifest.boxes[self._node]))

    def _open(self, manifest: Manifest, box: bytes) -> ArithmeticShare:
        if self._key is None:
            raise refuse("the key that this was sealed to is gone; make a new agreement")
        return open_box(self._agreement, manifest, box, node=self._node, key=self._key)

    def erase(self) -> None:
        with self._keeping:
            self._key = None
            self._weights.clear()
            if self.weighted is not None:
                self.weighted.drop()

    def check_objective(self, objective: int) -> None:
        """Refuse an objective that is not confidential, and everything after the expiry."""
        if objective not in self._objectives:
            raise refuse(f"there is no confidential objective {objective}")
        check_still_valid(self._agreement, time.time())

    def check_frozen(self, objective: int) -> None:
        """Refuse an objective while its inputs, or those of any other, are not frozen."""
        self.check_objective(objective)
        # All of them: the seed of the search follows from all inputs, and nothing is disclosed
        # before it is fixed.
        for each in (objective, *self._objectives):
            if each not in self.seed_contributions:
                raise refuse(f"the inputs of objective {each} are not prepared yet")
        if self.weighted is not None and not self.weighted.attempt:
            raise refuse("the weights have no factors yet; have the inputs prepared first")

    def digest(self) -> bytes:
        """A hash of all frozen inputs, which nodes must have in common to compute."""
        lines = [f"{k}:{frozen.manifests}" for k, frozen in sorted(self.frozen.items())]
        lines += [] if self.weighted is None else [f"weighted:{self.weighted.attempt}"]
        return hashlib.sha256("\n".join(lines).encode()).digest()

    def searched(self, objective: int) -> ArithmeticShare:
        """The node's shares of what is searched: the weights, times factors if equity counts."""
        return self.weights(objective) if self.weighted is None else self.weighted.weights()

    def weights(self, objective: int) -> ArithmeticShare:
        kept = self._weights.get(objective)
        if kept is None:
            kept = self._open_weights(objective)
            with self._keeping:
                if self._key is not None:  # not erased meanwhile
                    self._weights[objective] = kept
        return kept

    def _open_weights(self, objective: int) -> ArithmeticShare:
        shape = (self._agreement.problem.rows, self._agreement.problem.columns)
        held = held_by(self._node, len(self._agreement.nodes))
        whole = ArithmeticShare({c: np.zeros(shape, np.uint64) for c in held})
        for who, stored in self._checked(objective).items():
            manifest = read_manifest(self._agreement, stored.manifest, stored.signature)
            share = self._open(manifest, stored.box)
            rows = self._agreement.rows_of(who, objective)
            for c in held:
                whole.parts[c][rows] = share.parts[c]
        return whole

    def drop_weights(self) -> None:
        """Free the memory; the boxes are opened again when they are needed."""
        self._weights.clear()
        if self.weighted is not None:
            self.weighted.drop()

    def forget(self, objective: int, participant: str, box: str) -> None:
        """Drop a box that failed the check, unless the participant has sealed another since."""
        stored = self._store.input(objective, participant)
        if stored is not None and box_hash(stored.box) == box:
            self._store.drop_input(objective, participant)
            self._changed(objective)

    def _changed(self, objective: int) -> None:
        """Forget what follows from rows that are not those that are here now."""
        self._weights.pop(objective, None)
        self.accepted.pop(objective, None)

    def commit(self, objective: int) -> bytes:
        """The hash that binds this node to its contribution to the seed."""
        if objective in self.frozen:
            return self._commitment(objective, self.contribution(objective))
        return self._commitment(objective, self._store.draw_contribution(objective))

    def _commitment(self, objective: int, contribution: bytes) -> bytes:
        return self.commitment_of(objective, self._node, contribution)

    def accept(self, objective: int, value: str) -> None:
        """Note what was checked: this node votes for it, and for nothing else by itself."""
        self.accepted[objective] = value

    def is_here(self, objective: int, value: str) -> bool:
        """Whether the rows here are those of a value that was voted on, as is what binds us."""
        manifests, commitments = read_frozen_value(value)
        self.check_commitments(objective, commitments)
        own = self.commit(objective).hex()
        if len(commitments) <= self._node or own != commitments[self._node]:
            raise _other_contribution(self._node)
        return _digest(self._store.inputs(objective)) == manifests

    def check_commitments(self, objective: int, commitments: list[str]) -> None:
        """Refuse what binds nodes to other contributions than when the inputs were frozen here."""
        frozen = self.frozen.get(objective)
        if frozen is None:
            return
        for node, (then, now) in enumerate(zip(frozen.commitments, commitments, strict=True)):
            if then != now:
                raise _other_contribution(node)

    def freeze(
        self,
        objective: int,
        checked: dict[str, StoredInput],
        *,
        commitments: list[str],
        votes: Sequence[bytes] = (),
    ) -> FrozenInputs:
        """Freeze the inputs that votes have decided on, and what each node adds to the seed."""
        if self._store.inputs(objective) != checked:
            raise refuse("the inputs changed while they were checked; prepare them again")
        if objective not in self.frozen:
            shown = [each.hex() for each in votes]
            event = InputsFrozen(objective, _digest(checked), commitments, shown)
            self._store.log.append(event)
            # Synced before this node opens its contribution: nothing can be changed then.
            self._store.log.sync()
            self.replay(event)
        self.check_commitments(objective, commitments)
        return self.frozen[objective]

    def contribution(self, objective: int) -> bytes:
        """What this node adds to the seed; refused before the inputs are frozen."""
        if objective not in self.frozen:
            raise refuse(f"the inputs of objective {objective} are not frozen; nothing is opened")
        drawn = self._store.contribution(objective)
        if drawn is None:
            raise _changed("contribution to the seed", objective)
        return drawn

    def commitment_of(self, objective: int, node: int, contribution: bytes) -> bytes:
        """The hash that binds a node to this contribution."""
        return commitment_to(
            contribution, agreement=self._store.hash, objective=objective, node=node
        )

    def known_contributions(self, objective: int) -> dict[int, bytes]:
        """By node: the own contribution, and those of all once they are drawn."""
        own = {self._node: self.contribution(objective)}
        return {**dict(enumerate(self._drawn.get(objective, []))), **own}

    def draw(self, objective: int, contributions: list[bytes]) -> None:
        """Log the contributions that all nodes have opened: the one draw of the seed.

        A contribution that its node was not bound to is a `LogError`.
        """
        if objective in self.seed_contributions:
            return
        event = SeedDrawn(objective, [each.hex() for each in contributions])
        frozen_after(self._agreement, self.frozen[objective], event)
        self._store.log.append(event)
        self._store.log.sync()
        self.replay(event)

    def search_seed(self) -> int:
        digests = {k: self.frozen[k].manifests for k in self._objectives}
        return search_seed(self._agreement, digests, self.seed_contributions)


def _digest(inputs: dict[str, StoredInput]) -> str:
    return manifests_digest(each.manifest for each in inputs.values())


def _changed(what: str, objective: int) -> EngineError:
    return EngineError(
        f"the {what} of objective {objective} on the disk are not what was frozen; restore the "
        "agreement's folder as it was"
    )
