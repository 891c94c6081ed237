"""A node that writes down which masks it draws, and for what, run as a module of its own.

Beside its own file, `node-0.masks` gets a line for each draw.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import NodeProcess
from tacit.mpc import Context, Epoch, agree_epoch
from tacit.mpc.masks import KeyedMasks
from tacit.node import epochs, process
from tests.mpc.mask_checks import MasksDrawn, recorded
from tests.support.nursery import nursery


class RecordingCluster(LocalCluster):
    """Nodes that write down which masks they draw."""

    def _launch(self, node: int) -> NodeProcess:
        path = self.folder / f"node-{node}.toml"
        with (self.folder / f"node-{node}.err").open("ab") as errors:
            return nursery().start(
                "tests.on_nodes.recording_node", [str(path), "--throw-away"], errors
            )

    def masks_drawn(self) -> MasksDrawn:
        """What all nodes have drawn so far."""
        drawn = MasksDrawn()
        for node in range(len(self.listen)):
            for line in (self.folder / f"node-{node}.masks").read_text().splitlines():
                stream, _, purpose = line.partition(" ")
                drawn.add(node, stream, purpose)
        return drawn


def _record(path: Path) -> None:
    purposes: dict[int, str] = {}
    agree, draw, made = agree_epoch, KeyedMasks.words, Epoch.masks
    kept: list[KeyedMasks] = []  # so that no other gets the same address

    async def numbered(*arguments: Any, number: int = 0, **options: Any) -> Epoch:
        epoch = await agree(*arguments, number=number, **options)
        epoch.number = number  # type: ignore[attr-defined]
        return epoch

    def masks(self: Epoch, context: Context, state: bytes = b"") -> KeyedMasks:
        source = made(self, context, state)
        kept.append(source)
        about = (context.objective, context.evaluation, context.attempt, context.request.hex())
        purposes[id(source)] = f"{self.number}:{about}"  # type: ignore[attr-defined]
        return source

    with path.open("a", buffering=1) as file:

        def note(source: KeyedMasks, stream: str, label: str) -> None:
            file.write(f"{stream} {purposes[id(source)]}|{label}\n")

        # Where it is looked up, each of them.
        vars(epochs)["agree_epoch"] = numbered
        Epoch.masks = masks  # type: ignore[method-assign]
        KeyedMasks.words = recorded(draw, note)  # type: ignore[method-assign]
        sys.exit(process.main(sys.argv[1:]))


if __name__ == "__main__":
    _record(Path(sys.argv[1]).with_suffix(".masks"))
