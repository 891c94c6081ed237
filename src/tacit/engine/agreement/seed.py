"""The seed of a pinned search: where nobody has chosen one, nobody can aim at one.

It follows from all manifests and from a contribution per objective that the nodes draw together
when they freeze the inputs. Manifests alone would not do: whoever seals last, or sees all boxes
before it seals, could try until it likes the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from tacit.engine.agreement.terms import Agreement, agreement_hash


def manifests_digest(manifests: Iterable[bytes], /) -> str:
    """One hash of an objective's manifests in the agreement's order of owners."""
    whole = hashlib.sha256()
    for manifest in manifests:
        whole.update(hashlib.sha256(manifest).digest())
    return whole.hexdigest()


def search_seed(
    agreement: Agreement, digests: Mapping[int, str], contributions: Mapping[int, str], /
) -> int:
    """The agreed seed, or the one derived from all manifests and contributions."""
    if agreement.search.seed is not None:
        return agreement.search.seed
    text = ",".join(f"{k}:{digests[k]}:{contributions[k]}" for k in agreement.confidential())
    digest = hashlib.sha256(b"tacit seed/2\n" + agreement_hash(agreement) + text.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
