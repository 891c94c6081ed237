from __future__ import annotations

import pytest
from msgspec.structs import replace

from tacit.engine.agreement.terms import canonical
from tacit.engine.node.work.agreeing import _public_weights
from tacit.engine.wire.messages import Agree
from tacit.errors import RefusedError
from tests.engine.fixtures import example_cast


@pytest.mark.parametrize("objective", [0, 7])
def test_weights_of_public_objectives_alone_are_taken(objective: int) -> None:
    """Of others a node would keep on its disk whatever a platform likes."""
    cast = example_cast()
    search = replace(cast.agreement.search, populations="derived")
    agreement = replace(cast.agreement, search=search)
    request = Agree(
        id=1,
        agreement=canonical(agreement),
        signatures=cast.signatures,
        public_weights={objective: bytes(32)},
    )
    with pytest.raises(RefusedError, match=f"no public objective {objective}"):
        _public_weights(agreement, request)
