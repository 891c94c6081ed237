"""Sealed boxes and manifests whose participant itself signed the changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from nacl.public import PrivateKey, PublicKey, SealedBox

from tacit.agreement.sealing import box_hash, open_box, read_manifest, seal_rows
from tacit.agreement.signatures import sign
from tests.fuzz.harness import Target, Trial
from tests.fuzz.mutations import as_json, as_msgpack, mutated, sometimes_mangled
from tests.on_nodes.fixtures import example_cast

Drawn = tuple[bytes, bytes, bytes, bool]


@contextmanager
def boxes() -> Iterator[Trial]:
    """What a node does with a box and its manifest."""
    cast = example_cast()
    agreement, key = cast.agreement, cast.participants["owner"]
    sealed = seal_rows(agreement, "owner", 0, np.array([[1, 9], [8, 3]]), key=key)
    node = cast.sealing[0]
    opened = SealedBox(PrivateKey(node.private_bytes_raw())).decrypt(sealed.boxes[0])
    contents = msgspec.msgpack.decode(opened)
    body, manifest = msgspec.msgpack.decode(contents["body"]), msgspec.json.decode(sealed.manifest)
    to = SealedBox(PublicKey(bytes.fromhex(agreement.nodes[0].sealing_key)))

    @st.composite
    def examples(draw: st.DrawFn) -> Drawn:
        inner = draw(sometimes_mangled(as_msgpack(draw(mutated(body)))))
        outer: dict[str, Any] = {"body": inner, "signature": sign(key, "box", inner)}
        whole = draw(sometimes_mangled(as_msgpack(draw(mutated(outer, most=1)))))
        box = draw(sometimes_mangled(to.encrypt(whole)))
        told = {**manifest, "boxes": [box_hash(box), *manifest["boxes"][1:]]}
        written = draw(sometimes_mangled(as_json(draw(mutated(told, most=2)))))
        return box, written, sign(key, "manifest", written), draw(st.booleans())

    def run(drawn: Drawn) -> int:
        box, written, signature, honest = drawn
        if honest:
            written = as_json({**manifest, "boxes": [box_hash(box), *manifest["boxes"][1:]]})
            signature = sign(key, "manifest", written)
        read = read_manifest(agreement, written, signature)
        open_box(agreement, read, box, node=0, key=node)
        return 1

    yield Trial(examples(), run)


TARGETS = [Target("boxes", 100_000, boxes)]
