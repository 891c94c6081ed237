"""docs/messages.md lists every message, event and entry as the code defines them."""

from __future__ import annotations

import inspect
from types import ModuleType

import msgspec
import pytest

from tacit.node import counters, epoch_state, inputs, keys, sealed_progress, series, store
from tacit.records import events, ledger, messages, peer_messages
from tests.on_nodes.messages_page import PAGE, SECTIONS, page

STORED = [counters, store, sealed_progress, inputs, epoch_state, series, keys]
MODULES = [messages, peer_messages, events, ledger, *STORED]


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.on_nodes.messages_page"


@pytest.mark.parametrize("module", MODULES)
def test_every_record_is_on_the_page_and_says_what_it_means(module: ModuleType) -> None:
    listed = {record for _, _, records in SECTIONS for record in records}
    for _, record in inspect.getmembers(module, inspect.isclass):
        is_ours = record.__module__ == module.__name__ and not record.__name__.startswith("_")
        if is_ours and issubclass(record, msgspec.Struct) and not record.__subclasses__():
            assert record in listed, record
            assert record.__doc__
