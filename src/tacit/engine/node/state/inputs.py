"""The participants' inputs of one agreement at a node: taken, checked, and frozen for good."""

from __future__ import annotations

import asyncio
import time

import numpy as np

from tacit.engine.agreement.sealing import (
    Manifest,
    box_hash,
    manifests_digest,
    open_box,
    read_manifest,
    search_seed,
)
from tacit.engine.identity.keys import Keys
from tacit.engine.node.state.policy import check_still_valid, refuse
from tacit.engine.node.state.store import Store, StoredInput
from tacit.engine.records.events import InputsFrozen, InputTaken
from tacit.engine.wire.messages import Submit
from tacit.engine.wire.replies import RefusalKind
from tacit.mpc import ArithmeticShare


class Inputs:
    """The inputs of all confidential objectives."""

    def __init__(self, store: Store, *, node: int, keys: Keys) -> None:
        self._store, self._agreement = store, store.agreement
        self._node, self._keys = node, keys
        self._objectives = self._agreement.confidential()
        self._weights: dict[int, ArithmeticShare] = {}
        self.seed_contributions: dict[int, str] = {}
        """Per frozen objective, what the nodes drew together for the search's seed."""
        self.preparing = asyncio.Lock()

    @property
    def frozen(self) -> list[int]:
        """The objectives whose inputs never change again."""
        return sorted(self.seed_contributions)

    def replay(self, event: InputsFrozen) -> None:
        """Remember what the log says."""
        self.seed_contributions[event.objective] = event.seed_contribution

    def submit(self, message: Submit) -> None:
        """Take a participant's sealed rows, after opening and checking them."""
        manifest = self.examine(message)
        if manifest is not None:
            self.keep(message, manifest)

    def examine(self, message: Submit) -> Manifest | None:
        """Open and check sealed rows, which takes its time; None if just these are here."""
        check_still_valid(self._agreement, time.time())
        manifest = read_manifest(self._agreement, message.manifest, message.signature)
        who, objective = manifest.participant, manifest.objective
        stored = StoredInput(message.manifest, message.signature, message.box)
        earlier = self._store.input(objective, who)
        if earlier == stored:
            return None
        if objective in self.seed_contributions:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        if earlier is not None:
            raise refuse(
                f"{who!r} has sealed its rows already, which it does once per agreement",
                kind=RefusalKind.OTHER_ROWS,
                participants=[who],
            )
        open_box(self._agreement, manifest, message.box, node=self._node, keys=self._keys)
        return manifest

    def keep(self, message: Submit, manifest: Manifest) -> None:
        """Keep rows that were examined, unless the inputs were frozen meanwhile."""
        who, objective = manifest.participant, manifest.objective
        if objective in self.seed_contributions:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        stored = StoredInput(message.manifest, message.signature, message.box)
        self._store.save_input(objective, who, stored)
        self._weights.pop(objective, None)
        self._store.log.append(InputTaken(objective, who, manifest.boxes[self._node]))

    def check_objective(self, objective: int) -> None:
        """Refuse an objective that the nodes do not evaluate, and everything after the expiry."""
        if objective not in self._objectives:
            raise refuse(f"there is no confidential objective {objective}")
        check_still_valid(self._agreement, time.time())

    def check_frozen(self, objective: int) -> None:
        """Refuse an objective whose inputs are not frozen."""
        self.check_objective(objective)
        if objective not in self.seed_contributions:
            raise refuse(f"the inputs of objective {objective} are not prepared yet")

    def missing(self, objective: int) -> list[str]:
        """The owners whose rows are not here."""
        owners = [each.participant for each in self._agreement.objectives[objective].owners]
        return [owner for owner in owners if not self._store.has_input(objective, owner)]

    def weights(self, objective: int) -> ArithmeticShare:
        """The node's shares of an objective's whole matrix; may be called in any thread."""
        kept = self._weights.get(objective)
        if kept is None:
            kept = self._weights[objective] = self._open_weights(objective)
        return kept

    def _open_weights(self, objective: int) -> ArithmeticShare:
        shape = (self._agreement.problem.rows, self._agreement.problem.columns)
        whole = ArithmeticShare(np.zeros(shape, np.uint64), np.zeros(shape, np.uint64))
        for who, stored in self._store.inputs(objective).items():
            manifest = read_manifest(self._agreement, stored.manifest, stored.signature)
            share = open_box(
                self._agreement, manifest, stored.box, node=self._node, keys=self._keys
            )
            rows = self._agreement.rows_of(who, objective)
            whole.mine[rows], whole.next[rows] = share.mine, share.next
        return whole

    def drop_weights(self) -> None:
        """Keep no shares in memory; they are opened again when they are needed."""
        self._weights.clear()

    def forget(self, objective: int, participant: str, box: str) -> None:
        """Drop this box, if it is still the one that is here; the participant may seal another."""
        stored = self._store.input(objective, participant)
        if stored is not None and box_hash(stored.box) == box:
            self._store.drop_input(objective, participant)
            self._weights.pop(objective, None)

    def freeze(
        self, objective: int, checked: dict[str, StoredInput], *, seed_contribution: str
    ) -> None:
        """From now on the inputs are what they are, and that is what was checked."""
        if self._store.inputs(objective) != checked:
            raise refuse("the inputs changed while they were checked; prepare them again")
        if objective in self.seed_contributions:
            return
        digest = manifests_digest(each.manifest for each in checked.values())
        event = InputsFrozen(objective, digest, seed_contribution)
        self._store.log.append(event)
        self._store.log.sync()
        self.replay(event)

    def search_seed(self) -> int:
        """The seed that follows from the frozen inputs."""
        digests = {
            k: manifests_digest(each.manifest for each in self._store.inputs(k).values())
            for k in self._objectives
        }
        return search_seed(self._agreement, digests, self.seed_contributions)
