"""A run whose rows an earlier version sealed does not go on, and says so."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tacit.engine.agreement.sealing import Manifest, SealedRows, seal_rows
from tacit.engine.agreement.signatures import sign
from tacit.errors import WrongStateError
from tacit.service.execution.agreed_runs import StoredAgreement, StoredRows
from tacit.service.workflow.lifecycle import State
from tests.engine.fixtures import Cast, example_cast, example_problem


def stored(cast: Cast, rows: SealedRows) -> StoredAgreement:
    taken = [StoredRows("owner", 0, "accepted", rows)]
    state = State.INTERRUPTED
    return StoredAgreement("r-1", state, "cluster", "desk", 1.0, b"", cast.agreement, {}, taken)


def test_rows_of_an_earlier_version_are_named() -> None:
    cast = example_cast()
    key, weights = cast.participants["owner"], example_problem().objectives[0].weights
    assert weights is not None
    now = seal_rows(cast.agreement, "owner", 0, weights, key=key)
    stored(cast, now).check_goes_on()
    manifest = replace(msgspec.json.decode(now.manifest, type=Manifest), components=[])
    data = msgspec.json.encode(manifest)
    before = SealedRows(now.boxes, data, sign(key, "manifest", data))
    with pytest.raises(WrongStateError, match="'owner' were sealed by an earlier version"):
        stored(cast, before).check_goes_on()
