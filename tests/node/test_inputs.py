"""Inputs at one node: taken once, frozen once, and what a restart must find as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.agreement.sealing import SealedRows, seal_rows
from tacit.equity import FIRST_HEAD, empty_book
from tacit.errors import EngineError, RefusedError
from tacit.mpc import ArithmeticShare
from tacit.node.agreement_state import AgreementState
from tacit.node.series import KeptBook
from tacit.node.store import Store, StoredInput
from tacit.records.ledger import DisclosureKind
from tacit.records.messages import RefusalKind, Submit
from tacit.records.requests import Attempt
from tests.agreement.test_equity import plain, with_equity
from tests.on_nodes.fixtures import example_cast

CAST = example_cast()
OTHERS = ["ab" * 32, "cd" * 32]


def sealed(first: int = 1, *, version: int = 1) -> SealedRows:
    weights, key = np.array([[first, 9], [8, 3]]), CAST.participants["owner"]
    return seal_rows(CAST.agreement, "owner", 0, weights, key=key, version=version)


ROWS = sealed()


def submission(rows: SealedRows = ROWS) -> Submit:
    return Submit(
        agreement=CAST.agreement.digest,
        manifest=rows.manifest,
        signature=rows.signature,
        box=rows.boxes[0],
    )


def agreed(root: Path) -> AgreementState:
    store = Store.create(root, CAST.agreement, CAST.signatures)
    return AgreementState(store, node=0, key=CAST.sealing[0])


def take(state: AgreementState, rows: SealedRows = ROWS) -> None:
    manifest = state.inputs.examine(submission(rows))
    assert manifest is not None
    state.inputs.keep(submission(rows), manifest)


def freeze(state: AgreementState, *, others: list[str] = OTHERS) -> None:
    commitments = [state.inputs.commit(0).hex(), *others]
    state.inputs.freeze(0, state.store.inputs(0), commitments=commitments)


def test_rows_are_taken_once(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    take(state)
    assert state.inputs.examine(submission()) is None, "the same once more"
    with pytest.raises(RefusedError) as refused:
        state.inputs.examine(submission(sealed(2)))
    assert refused.value.kind == RefusalKind.OTHER_ROWS


def test_a_later_version_replaces_rows_until_the_node_votes(tmp_path: Path) -> None:
    """Its participant's signature voids the earlier one, also where nobody dropped it."""
    state, again = agreed(tmp_path), sealed(2, version=2)
    take(state)
    state.inputs.weights(0)
    state.inputs.accept(0, "what was checked")
    size = state.store.size - state.store.log.size
    take(state, again)
    assert state.store.inputs(0)["owner"].manifest == again.manifest
    # What was checked is not what is here, and is not voted for.
    assert state.inputs.accepted == {}
    assert abs(state.store.size - state.store.log.size - size) < 100
    for void in (ROWS, sealed(3), sealed(3, version=2)):
        with pytest.raises(RefusedError) as refused:
            state.inputs.examine(submission(void))
        assert refused.value.kind == RefusalKind.OTHER_ROWS
    later = submission(sealed(4, version=4))
    examined = state.inputs.examine(later)
    assert examined is not None
    with pytest.raises(RefusedError, match="nothing replaces them"):
        state.inputs.keep(later, examined, voted=True)
    assert state.store.inputs(0)["owner"].manifest == again.manifest


def test_what_is_frozen_is_on_the_disk_and_stays(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    late = sealed(2)
    examined = state.inputs.examine(submission(late))  # in a thread, while others froze
    assert examined is not None
    take(state)
    with pytest.raises(RefusedError, match="nothing is opened"):
        state.inputs.contribution(0)
    freeze(state)
    # Peers open their contributions now: a power cut must not take the line.
    assert state.store.log.is_synced
    assert len(state.inputs.contribution(0)) == 32
    with pytest.raises(RefusedError, match="frozen"):
        state.inputs.keep(submission(late), examined)
    with pytest.raises(RefusedError, match="frozen"):
        state.inputs.examine(submission(late))
    again = agreed(tmp_path)
    freeze(again)
    with pytest.raises(RefusedError, match="node 2 is bound to another contribution"):
        freeze(again, others=[OTHERS[0], "ef" * 32])


def test_what_changed_while_it_was_checked_is_not_frozen(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    take(state)
    other = sealed(2)
    checked = {"owner": StoredInput(other.manifest, other.signature, other.boxes[0])}
    commitments = [state.inputs.commit(0).hex(), *OTHERS]
    with pytest.raises(RefusedError, match="changed while they were checked"):
        state.inputs.freeze(0, checked, commitments=commitments)


def test_other_files_than_were_frozen_stop_the_node(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    take(state)
    freeze(state)
    folder = state.store.folder
    agreed(tmp_path)
    drawn = (folder / "contribution-0").read_bytes()
    (folder / "contribution-0").write_bytes(bytes(32))
    with pytest.raises(EngineError, match="contribution to the seed"):
        agreed(tmp_path)
    (folder / "contribution-0").write_bytes(drawn)
    other = agreed(tmp_path / "other")
    take(other, sealed(2))
    (path,) = (folder / "inputs").iterdir()
    path.write_bytes(next((other.store.folder / "inputs").iterdir()).read_bytes())
    with pytest.raises(EngineError, match="sealed rows"):
        agreed(tmp_path)


def test_nodes_with_other_inputs_or_factors_have_nothing_in_common(tmp_path: Path) -> None:
    digests = []
    for name, rows in (("one", ROWS), ("same", ROWS), ("other", sealed(2))):
        state = agreed(tmp_path / name)
        take(state, rows)
        freeze(state)
        digests.append(state.inputs.digest())
    assert digests[0] == digests[1] != digests[2]
    equal = with_equity(plain())
    store = Store.create(tmp_path / "equity", equal, {})
    weighted = AgreementState(store, node=0, key=CAST.sealing[0]).inputs
    assert weighted.weighted is not None
    seen = set()
    for attempt in ("", "1:1", "1:2"):
        weighted.weighted.attempt = attempt
        seen.add(weighted.digest())
    assert len(seen) == 3


def test_a_contribution_is_drawn_once(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    drawn = state.store.draw_contribution(0)
    assert agreed(tmp_path).store.draw_contribution(0) == drawn
    assert agreed(tmp_path).inputs.commit(0) == state.inputs.commit(0)
    assert agreed(tmp_path / "other").store.draw_contribution(0) != drawn


def test_two_lines_about_the_same_part_show_that_by_nothing(tmp_path: Path) -> None:
    state, seen = agreed(tmp_path), list[bytes]()
    for _ in range(2):
        attempt = Attempt("1:1:1")
        state.store.log_sent(
            DisclosureKind.LABELS,
            0,
            attempt,
            b"",
            lambda salt: seen.append(salt) or "",  # type: ignore[func-returns-value]
        )
    assert len(set(seen)) == 2
    assert {len(each) for each in seen} == {16}


def test_states_lie_on_the_disk_encrypted_and_only_until_the_end(tmp_path: Path) -> None:
    state = agreed(tmp_path)
    state.store.save_state("best-0", b"a share of somebody")
    assert b"share" not in (state.store.folder / "best-0").read_bytes()
    assert state.store.load_state("best-0") == b"a share of somebody"
    state.end("it is over")
    state.erase()
    with pytest.raises(RefusedError, match="nothing is kept"):
        state.store.save_state("best-0", b"late")
    assert not (state.store.folder / "best-0").exists()


def test_shares_that_are_opened_while_all_is_erased_are_in_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = agreed(tmp_path)
    take(state)
    inputs, opens = state.inputs, state.inputs._open_weights

    def late(objective: int) -> ArithmeticShare:
        opened = opens(objective)
        inputs.erase()
        return opened

    inputs.weights(0)
    assert inputs._weights
    inputs.drop_weights()
    monkeypatch.setattr(inputs, "_open_weights", late)
    inputs.weights(0)
    assert not inputs._weights


def test_an_answer_that_a_crash_cut_short_does_not_hide_those_after_it(tmp_path: Path) -> None:
    answers = agreed(tmp_path).store.answers
    answers.add(0, [1, 0], None)
    path = next(tmp_path.rglob("answers"))
    path.write_bytes(path.read_bytes()[:-1])
    assert list(answers.read()) == []
    answers.add(0, [0, 1], None)
    assert [each.labels for each in answers.read()] == [[0, 1]]


def test_balances_follow_the_runs_that_were_counted_here(tmp_path: Path) -> None:
    book = KeptBook(tmp_path / "book", empty_book(0, 3, ["north", "south", "west"]))
    book.check_head(FIRST_HEAD)
    with pytest.raises(RefusedError, match="other runs than were counted here"):
        book.check_head("ff" * 32)
