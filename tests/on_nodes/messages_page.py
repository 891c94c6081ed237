"""Makes docs/messages.md from the definitions: `python -m tests.on_nodes.messages_page`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from tacit.node import (
    counters,
    epoch_state,
    inputs,
    keys,
    plan_boxes,
    sealed_progress,
    series,
    store,
)
from tacit.records import events, ledger, messages, peer_messages
from tacit.records.messages import reply_type

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
INTRODUCTION = """\
# Messages, log events and ledger entries

Made from the definitions in `tacit.records` by
`python -m tests.on_nodes.messages_page`; a test compares. Each record has one type and is read back
by it. Shares and openings of the protocols themselves are not here: they are plain arrays, and each
protocol in `tacit.mpc` states its own.

An attempt is named `number:epoch:count`, in all records: the number of the evaluation or of the
last step, the epoch in which it was computed, and a count that tells attempts apart; the
empty text is none. Hashes are SHA-256, in logs and ledgers in hexadecimal. In messages `agreement`
is the hash of the agreement; only `Agree` has the agreement itself, in its canonical form. A Number
is 0 to 2^62, a Small 0 to 65535, a Word has up to 100 characters and a Nonce up to 64 bytes.
"""


def _of(union: Any) -> list[type]:
    return list(get_args(union))


SECTIONS: list[tuple[str, str, list[type]]] = [
    (
        "From the coordinator to a node",
        "MessagePack, tagged by `type`. Every request has an `id`, which its reply repeats.",
        _of(messages.AnyRequest),
    ),
    (
        "From a node to the coordinator",
        "MessagePack, tagged by `type`: what belongs to the request, `Refused` or `Failed`.",
        [*_of(messages.Reply), messages.Allowed],
    ),
    (
        "Between nodes",
        "MessagePack, tagged by `type`, beside the protocols.",
        _of(peer_messages.PeerMessage),
    ),
    (
        "Log of an agreement",
        "JSON lines in a hash chain, tagged by `event`. Every line also has `at`, the time in "
        "seconds since 1970, and `previous`, the hash of the line before. The first line has the "
        "version of the log as `format`.",
        _of(events.AgreementEvent),
    ),
    (
        "A node's own log",
        "The same kind of chain, about links and agreements. `refused` and `failed` are there too, "
        "where a request belongs to no agreement of the platform that sent it.",
        _of(events.NodeEvent),
    ),
    (
        "What a node keeps on its disk",
        "MessagePack, tagged by `stored` with a version.",
        [
            store.StoredInput,
            store.StoredLease,
            counters.StoredBest,
            store.StoredAnswer,
            sealed_progress.KeptState,
            plan_boxes.StoredParts,
            inputs.StoredWeighted,
            epoch_state.StoredPeerHead,
            series.StoredBook,
            keys.StoredSealingKey,
            store.StoredArray,
        ],
    ),
    (
        "The platform's ledger",
        "JSON lines, tagged by `entry`: all are `disclosed`. What was disclosed is the `payload`, "
        "tagged by `kind`. `parts` has, per node, the substreams that it sent, each with its "
        "number and its frames; of a plan, one substream with the node's components as frames.",
        [ledger.Disclosed, *_of(ledger.Payload), ledger.HeardBoxes],
    ),
]


def described(record: type) -> Iterator[tuple[str, str, str]]:
    """Name in the file, type and meaning of each field, those of base classes first."""
    for cls in reversed(record.__mro__):
        if cls.__module__.partition(".")[0] != "tacit" or cls in (
            events.LogEvent,
            messages.Message,
        ):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for at, statement in enumerate(body.body):
            if not isinstance(statement, ast.AnnAssign):
                continue
            assert isinstance(statement.target, ast.Name)
            name = statement.target.id
            after = body.body[at + 1] if at + 1 < len(body.body) else None
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            meaning = " ".join(after.value.value.split()) if is_text else ""  # type: ignore[union-attr]
            yield name, ast.unparse(statement.annotation), meaning


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    for title, introduction, records in SECTIONS:
        lines += [f"## {title}", "", *textwrap.wrap(introduction, 100), ""]
        for record in records:
            tag = record.__struct_config__.tag  # type: ignore[attr-defined]
            name = f"`{tag}` ({record.__name__})"
            if tag in (record.__name__, None):  # a part of others has no tag
                name = f"`{record.__name__}`"
            if issubclass(record, messages.Request):
                name += f", answered by `{reply_type(record).__name__}`"
            lines += [f"- {name}: {' '.join((inspect.getdoc(record) or '').split())}"]
            for field, kind, meaning in described(record):
                lines += [f"  - `{field}`: {kind}{f'. {meaning}' if meaning else ''}"]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
