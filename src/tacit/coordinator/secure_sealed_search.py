"""A sealed search on nodes behind synchronous calls, with the ledger of what it opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.agreement.own_part import whole_plan
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch

if TYPE_CHECKING:
    from tacit.coordinator.secure import SecureEngine


class SecureSealedSearch:
    """A sealed search on nodes behind synchronous calls; it writes the ledger."""

    def __init__(self, engine: SecureEngine, search: SealedSearch, /) -> None:
        self._engine, self._search = engine, search

    @property
    def searches(self) -> Sequence[int]:
        """The numbers of the searches that go on together."""
        return self._search.searches

    @property
    def step(self) -> int:
        """How many steps all nodes have finished, as far as we know."""
        return self._search.step

    @property
    def opened(self) -> bool:
        """Whether the plan was opened before this coordinator came; nothing follows then."""
        return self._search.opened

    @property
    def seed(self) -> int:
        """What the public schedule follows from; the nodes derive it from the inputs."""
        return self._search.seed

    @property
    def cost(self) -> tuple[int, int]:
        """Rounds of the last request, and bytes of the node that sent most."""
        return self._search.rounds, self._search.sent

    @property
    def notes(self) -> list[str]:
        """What whoever reads the result must know of the nodes."""
        return self._engine.notes

    def start(self, *, until: float | None = None) -> None:
        """Have the nodes draw the secret start."""
        self._engine.wait(self._engine.submit(self._search.start(until=until)), until=until)

    @property
    def finished(self) -> bool:
        """Whether it was opened that all plans are proved, where that was agreed."""
        return self._search.finished

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        """Go on by so many steps."""
        work = self._search.advance(count, horizon, until=until)
        done = self._engine.wait(self._engine.submit(work), until=until)
        if done.payload is not None:
            self._engine.ledger.add(done.entry(self.searches[0]))

    def open(self, number: int, /, *, until: float | None) -> OpenedByNodes:
        """Open the best plan of one of the searches: once, and the search ends with it."""
        engine = self._engine
        opened = engine.wait(engine.submit(self._search.open(number, until=until)), until=until)
        if engine.agreement.for_owners:
            # First the boxes, which are as good as the plan: the ledger says that they are here.
            engine.plan_parts.keep(number, opened.sealed)
        engine.ledger.add(opened.entry)
        if not engine.agreement.for_owners or not engine.owners:
            return opened
        whole = whole_plan(engine.agreement, number, opened.sealed, engine.owners)
        return replace(opened, plan=whole)
