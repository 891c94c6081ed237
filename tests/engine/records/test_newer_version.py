"""What a newer version wrote is refused, and said to be that."""

from __future__ import annotations

import msgspec
import pytest

from tacit.engine.records.events import AgreementAccepted
from tacit.engine.records.ledger import read_ledger
from tacit.engine.records.node_log import FIRST, verify_log
from tacit.errors import LogError


def test_what_a_newer_version_wrote_is_refused() -> None:
    def line(**fields: object) -> bytes:
        return msgspec.json.encode({"at": 0, "previous": FIRST, **fields}) + b"\n"

    assert verify_log(line(event="agreed", agreement="ab")) == [
        AgreementAccepted("ab", previous=FIRST)
    ]
    with pytest.raises(LogError, match="the log has the format 'tacit-log/2' of another version"):
        verify_log(line(event="agreed", agreement="ab", format="tacit-log/2"))
    with pytest.raises(LogError, match=r"not an event of this version \(Invalid value 'merged'"):
        verify_log(line(event="merged"))
    with pytest.raises(LogError, match=r"not a ledger entry \(Invalid value 'pareto'"):
        read_ledger(b'{"entry":"pareto"}\n')
