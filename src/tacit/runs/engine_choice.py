"""Choose the engine of a run: a simulation, nodes on this machine, or nodes elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import ParameterError
from tacit.problems import Problem

if TYPE_CHECKING:
    from tacit.agreement import FrontReveal, PinnedSearch
    from tacit.coordinator import SecureEngine

Announce = Callable[[str], None]
ENGINES = ("nodes", "simulated")
ON_LOSS = ("wait", "three")
PLAN_FOR = ("everybody", "owners")
FRONT = ("nothing", "plans", "values")
UNLIMITED = 1_000_000
"""What an agreement allows where neither generations nor evaluations are limited."""


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Where confidential objectives are evaluated.

    >>> EngineChoice(engine="cloud")
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'cloud' is not an engine; use nodes or simulated
    """

    engine: str = "nodes"
    cluster: str | Path | None = None
    """The cluster.toml of nodes elsewhere; without it they are started here."""
    local_nodes: int = 3
    """How many are started here: three or four."""
    ledger: str | Path | None = None
    """Where to write everything that the nodes reveal."""
    on_loss: str = "wait"
    """With four nodes: whether the others continue with "three" after a loss."""
    grace_seconds: float = 10.0
    """So long a node must give no sign of life before they do."""
    reveal_best: bool = False
    """Whether the nodes reveal at the end which of the best-known plans is truly best."""
    plan: str = "everybody"
    """Who learns the plan of a sealed search: with "owners" each its own rows. All of them are
    here, so it is put together here; nodes and ledger have nothing of it."""
    front: str = "nothing"
    """Of objectives that are evaluated together: whether the nodes reveal at the end which "plans"
    of the last set are non-dominated, or their "values" as well."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ParameterError(f"{self.engine!r} is not an engine; use {' or '.join(ENGINES)}")
        if self.engine == "simulated" and (self.cluster or self.ledger):
            raise ParameterError("a simulation has neither nodes nor a ledger; leave them out")
        if self.on_loss not in ON_LOSS:
            raise ParameterError(f"on_loss is {self.on_loss!r}; use {' or '.join(ON_LOSS)}")
        if self.plan not in PLAN_FOR:
            raise ParameterError(f"plan is {self.plan!r}; use {' or '.join(PLAN_FOR)}")
        if self.front not in FRONT:
            raise ParameterError(f"front is {self.front!r}; use one of {', '.join(FRONT)}")
        if self.local_nodes not in (3, 4):
            raise ParameterError(f"{self.local_nodes} local nodes; start three or four")

    @property
    def reveals(self) -> bool:
        """Whether something is revealed at the end."""
        return self.reveal_best or self.front != "nothing"

    @property
    def nodes(self) -> int:
        """How many nodes compute, where nodes do."""
        if self.cluster is None:
            return self.local_nodes
        from tacit.identity import load_cluster_config

        return len(load_cluster_config(Path(self.cluster)).nodes)


@contextmanager
def engine_on_nodes(
    problem: Problem,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    search: Callable[[], PinnedSearch],
    evaluations: int,
    population: tuple[int, int],
) -> Iterator[SecureEngine]:
    """An engine on nodes here or elsewhere, with the inputs checked."""
    # Here, since a simulation needs none of what nodes need.
    try:
        from tacit.agreement import COUNTS
        from tacit.identity import load_cluster_config
        from tacit.local import EngineRules, LocalCluster, open_engine
        from tacit.records import Ledger
    except ImportError as error:
        raise ParameterError(
            f"nodes need {error.name}; pip install 'tacit[node]', or use the simulated engine"
        ) from None

    # Late as well, since it imports what nodes need.
    pinned = search()
    with ExitStack() as stack:
        if choice.cluster is not None:
            cluster = load_cluster_config(Path(choice.cluster))
        else:
            announce(f"starting {COUNTS[choice.local_nodes]} nodes on this machine")
            # Nodes refuse chosen populations unless their operator allows them, and here that is
            # the caller.
            chosen = pinned.populations == "chosen"
            local = LocalCluster(nodes=choice.local_nodes, chosen_populations=chosen)
            cluster = stack.enter_context(local).config
        engine, signatures, sealed = open_engine(
            problem,
            cluster,
            search=pinned,
            evaluations=evaluations,
            population=population,
            rules=EngineRules(
                reveal_best=choice.reveal_best,
                on_loss="three" if choice.on_loss == "three" else "wait",
                grace_seconds=choice.grace_seconds,
                plan="owners" if choice.plan == "owners" else "everybody",
                front=_front_word(choice),
            ),
            ledger=Ledger(None if choice.ledger is None else Path(choice.ledger)),
        )
        stack.enter_context(engine)
        announce("sealing the weights and checking them on the nodes")
        engine.start(signatures, sealed)
        yield engine
        if choice.cluster is not None:  # ours are gone at once, with everything they have
            engine.end_agreement()


def _front_word(choice: EngineChoice) -> FrontReveal:
    words: dict[str, FrontReveal] = {"plans": "plans", "values": "values"}
    return words.get(choice.front, "nothing")
