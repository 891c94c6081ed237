"""A trust file says again what was written, whatever the names are."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tacit.participant import Trust, load_trust, save_trust
from tacit.participant.trust import TrustedNode, TrustedParticipant
from tacit.plain_text import plain_line

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
KEYS = st.text("0123456789abcdef", min_size=64, max_size=64)
TRUSTS = st.builds(
    Trust,
    st.lists(st.builds(TrustedNode, TEXT, KEYS, st.none() | KEYS), max_size=3),
    st.lists(st.builds(TrustedParticipant, TEXT, KEYS), max_size=3),
)


@given(trust=TRUSTS, note=TEXT)
def test_whatever_is_written_is_read_again(trust: Trust, note: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.toml"
        save_trust(trust, path, note=plain_line(note))
        assert load_trust(path) == trust


@given(text=st.text())
def test_a_line_stays_a_line(text: str) -> None:
    shown = plain_line(text)
    assert len(f"{shown}.".splitlines()) == 1
    assert shown.isprintable()
