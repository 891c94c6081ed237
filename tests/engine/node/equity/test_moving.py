"""What a node gives of its book, to whom, how often, and what it takes of other nodes'."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec.structs import replace as changed

from tacit.engine.agreement import Agreement, RunEquity, canonical, draft_agreement, first_come
from tacit.engine.agreement.terms import AgreementLimits
from tacit.engine.identity.keys import Keys
from tacit.engine.local.engine import all_sign, public_keys
from tacit.engine.node.kept_agreements import agreements_naming
from tacit.engine.node.kept_series import FOLDER, KeptSeries
from tacit.engine.node.state.equity.moved_boxes import seal_parts
from tacit.engine.node.work.equity.giving import give_book
from tacit.engine.node.work.equity.taking import moved_book
from tacit.engine.node.work.off_loop import Turns
from tacit.engine.series import Series, SignedSeries, series_hash, sign_series
from tacit.engine.wire.messages import Agree, GiveBook
from tacit.errors import AgreementError, RefusedError
from tacit.mpc.equity import FIRST_HEAD, RunEntry, StepBook, parts_given
from tacit.mpc.local import deal_integers, reveal
from tacit.mpc.shares import ArithmeticShare, held_by
from tests.engine.agreement.test_equity import KEYS, RULES, TERMS, VARYING, plain
from tests.engine.equity_series import problem_of
from tests.engine.fixtures import offered_by
from tests.engine.series.made import run_of, series_like

PLATFORM = f"{9:064x}"
NAMES = tuple(KEYS)
STEPS = [5, 7, -12]


@dataclass
class Place:
    """Nodes with their keys, and those that they drew for one run."""

    keys: list[Keys]
    sealing: list[X25519PrivateKey]

    @classmethod
    def of(cls, nodes: int) -> Place:
        keys = [Keys.new("node") for _ in range(nodes)]
        return cls(keys, [X25519PrivateKey.generate() for _ in keys])

    def run(self) -> Agreement:
        nonce = secrets.token_hex(16)
        nodes = [
            offered_by(key, sealing, at + 1, nonce=nonce, platform=PLATFORM)
            for at, (key, sealing) in enumerate(zip(self.keys, self.sealing, strict=True))
        ]
        return draft_agreement(
            problem_of(1),
            participants=public_keys(KEYS),
            nodes=nodes,
            platform=PLATFORM,
            search=plain().search,
            limits=AgreementLimits(10, 1, 1, 1, int(time.time()) + 600),
            nonce=nonce,
        )


def made(pattern: Agreement, **changes: Any) -> Series:
    varying = {**VARYING, "least_participants": 3}
    return series_like(pattern, equity=TERMS, varying=varying, limits=RULES, **changes)


def signed(series: Series, keys: dict[str, Ed25519PrivateKey] = KEYS) -> SignedSeries:
    return SignedSeries(
        canonical(series), {name: sign_series(series, key) for name, key in keys.items()}
    )


def run_in(series: Series, pattern: Agreement, number: int, head: str) -> Agreement:
    reference = first_come(pattern.known_problem)
    equity = RunEquity(terms=TERMS, head=head, reference=reference)
    return run_of(series, changed(pattern, equity=equity), number)


class World:
    """Three nodes with a counted run, and four others that are to have its balances."""

    def __init__(self, folder: Path) -> None:
        self.before, self.after = Place.of(3), Place.of(4)
        self.first = made(self.before.run())
        self.second = made(self.after.run(), continues=series_hash(self.first))
        self.kept = []
        dealt = deal_integers(np.array(STEPS, dtype=np.int64))
        seeds = np.random.default_rng(1).integers(0, 1 << 64, (3, 4), dtype=np.uint64)
        for me in range(3):
            (folder / str(me)).mkdir()
            kept = KeptSeries(folder / str(me), most=9, node=me)
            run = run_in(self.first, self.before.run(), 1, FIRST_HEAD)
            kept.admit(run, signed(self.first), now=time.time())
            book = kept.book_of(run)
            assert book is not None
            own = ArithmeticShare({c: seeds[c] for c in held_by(me, 3)})
            entry = RunEntry(1, "one", NAMES, dealt[me], place=1, agreement="aa", seeds=own)
            book.keep(book.book.freeze(1).prepare(entry))
            self.pending = book.book.pending
            if me:  # node 0 died before it counted
                book.keep(book.book.count(1, "one"))
            self.kept.append(kept)
        self.head = self.pending

    def node(self, me: int) -> Any:
        keys = self.before.keys[me]

        def named_in(signing_keys: list[str]) -> tuple[int, Ed25519PrivateKey]:
            return signing_keys.index(keys.signing_public), keys.signing

        return SimpleNamespace(
            turns=Turns(),
            series=self.kept[me],
            own_keys=SimpleNamespace(named_in=named_in),
            are_one_platform=str.__eq__,
        )

    def ask(
        self, me: int, run: Agreement, series: Series | None = None, **changes: Any
    ) -> list[bytes]:
        carried = signed(series or self.second)
        request = GiveBook(
            agreement=canonical(run),
            signatures=changes.pop("signatures", all_sign(run, KEYS)),
            series=carried.data,
            series_signatures=changes.pop("series_signatures", carried.signatures),
        )
        platform = changes.pop("platform", PLATFORM)
        return asyncio.run(give_book(self.node(me), request, platform)).boxes

    def taken(self, folder: Path, run: Agreement, me: int, **changes: Any) -> StepBook | None:
        """What a later node makes of boxes."""
        folder.mkdir(exist_ok=True)
        kept = KeptSeries(folder, most=9, node=me)
        earlier = changes.pop("earlier", signed(self.first))
        request = Agree(
            agreement=canonical(run),
            signatures={},
            earlier=earlier.data,
            earlier_signatures=earlier.signatures,
            books=changes.pop("books"),
        )
        own = SimpleNamespace(offered_for=lambda _: (self.after.sealing[me], me))
        return moved_book(kept, own, run, signed(self.second), request)  # type: ignore[arg-type]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_book_is_given_to_one_series_at_one_head(world: World, tmp_path: Path) -> None:
    run = run_in(world.second, world.after.run(), 2, world.head)

    async def amid_a_count() -> None:
        book = world.kept[1]._books[series_hash(world.first)]
        async with book.turn:
            with pytest.raises(RefusedError, match="is at work"):
                world.kept[1].to_give(world.second, run)

    asyncio.run(amid_a_count())
    with pytest.raises(RefusedError, match="number 1 is used"):
        world.ask(1, run_in(world.second, world.after.run(), 1, world.head))
    with pytest.raises(RefusedError, match="another head"):
        world.ask(1, run_in(world.second, world.after.run(), 2, FIRST_HEAD))
    with pytest.raises(RefusedError, match="another platform"):
        world.ask(1, run, platform="ab" * 32)
    with pytest.raises(AgreementError, match="has not signed this agreement"):
        world.ask(1, run, signatures={})
    with pytest.raises(AgreementError, match="has not signed this series"):
        world.ask(1, run, series_signatures={})
    stays = made(world.before.run(), continues=series_hash(world.first))
    with pytest.raises(RefusedError, match="stays with its nodes"):
        world.ask(1, run_in(stays, world.before.run(), 2, world.head), stays)
    # Refused as often as one likes, it still takes runs; once it has given, it takes none.
    assert world.kept[1].book_of(run_in(world.first, world.before.run(), 2, world.head))
    given = [world.ask(me, run) for me in range(3)]
    with pytest.raises(RefusedError, match="has taken over"):
        world.kept[1].book_of(run_in(world.first, world.before.run(), 2, world.head))
    other = made(world.after.run(), continues=series_hash(world.first))
    with pytest.raises(RefusedError, match="another series has taken over these balances"):
        world.ask(1, run_in(other, world.after.run(), 3, world.head), other)
    # Node 0 has prepared the run only: it gave what the others counted, and nothing else again.
    with pytest.raises(RefusedError, match="as they were after other runs"):
        world.ask(0, run_in(world.second, world.after.run(), 3, FIRST_HEAD))
    # Given again after a restart, for another run: the boxes of both times fit together.
    world.kept[2] = KeptSeries(tmp_path / "2", most=9, node=2)
    books = [
        world.taken(
            tmp_path / f"later {me}",
            run,
            me,
            books={0: given[0][me], 1: given[1][me]} | {2: world.ask(2, run)[me]},
        )
        for me in range(4)
    ]
    found = [book for book in books if book is not None]
    for name, step in zip(NAMES, STEPS, strict=True):
        assert reveal([book.own_steps(name) for book in found]).tolist() == [step]
    assert {(book.head, book.last, book.runs) for book in found} == {(world.head, 1, 1)}


def test_a_node_that_cannot_give_goes_on(world: World) -> None:
    """Books of an earlier version have no seeds; the remedy is one more run, so it is taken."""
    book = world.kept[1]._books[series_hash(world.first)]
    book.keep(replace(book.book, seeds=None))
    with pytest.raises(RefusedError, match="count one more run"):
        world.ask(1, run_in(world.second, world.after.run(), 2, world.head))
    following = run_in(world.first, world.before.run(), 2, world.head)
    world.kept[1].admit(following, signed(world.first), now=time.time())


def test_what_is_prepared_may_be_added_once_and_not_taken_back(world: World) -> None:
    """Whoever asked first did not know that others had counted the run which node 0 prepared."""
    old, true = (
        run_in(world.second, world.after.run(), number, head)
        for number, head in ((2, FIRST_HEAD), (3, world.head))
    )
    world.ask(0, old)
    world.ask(0, true)
    world.ask(0, true)
    with pytest.raises(RefusedError, match="as they were after other runs"):
        world.ask(0, old)


def test_new_nodes_get_nothing_of_who_has_not_signed(world: World, tmp_path: Path) -> None:
    for kept in world.kept:
        kept_book = kept._books[series_hash(world.first)]
        gone = ArithmeticShare(
            dict.fromkeys(kept_book.book.components, np.ones(1, dtype=np.uint64))
        )
        entry = kept_book.book.prepared
        counted = kept_book.book if entry is None else kept_book.book.count(1, "one")
        steps, taken = {**counted.steps, "gone": gone}, {**counted.taken, "gone": 1}
        kept_book.keep(replace(counted, steps=steps, taken=taken))
    run = run_in(world.second, world.after.run(), 2, world.head)
    given = {me: world.ask(me, run)[0] for me in range(3)}
    later = world.taken(tmp_path / "later", run, 0, books=given)
    assert later is not None
    assert set(later.steps) == set(later.taken) == set(NAMES)


def test_what_is_not_from_the_earlier_nodes_is_not_taken(world: World, tmp_path: Path) -> None:
    run = run_in(world.second, world.after.run(), 2, world.head)
    given = [world.ask(me, run) for me in range(3)]
    mine = {me: given[me][0] for me in range(3)}

    def why(books: dict[int, bytes], **changes: Any) -> str:
        with pytest.raises((RefusedError, AgreementError)) as error:
            world.taken(tmp_path / "later", run, 0, books=books, **changes)
        return str(error.value)

    assert world.taken(tmp_path / "later", run, 0, books=mine) is not None
    assert "show what they give" in why({})
    for missing in range(3):
        rest = {me: box for me, box in mine.items() if me != missing}
        assert "fewer than three gave" in why(rest)
    assert "is not signed by node 0" in why({**mine, 0: mine[1]})
    assert "does not open" in why({**mine, 0: given[0][1]})
    again = changed(run, nonce=secrets.token_hex(16))
    with pytest.raises(RefusedError, match="for another run, or another node"):
        world.taken(tmp_path / "later", again, 0, books=mine)
    # An earlier series that not all signed, or another one.
    assert "has not signed this series" in why(
        mine, earlier=SignedSeries(canonical(world.first), {})
    )
    invented = signed(made(Place.of(3).run()))
    assert "continues another than the one that is shown" in why(mine, earlier=invented)
    # Balances after other runs than the agreement names.
    ahead = run_in(world.second, world.after.run(), 2, "ab" * 32)
    boxes = {}
    for me, kept in enumerate(world.kept):
        book = kept._books[series_hash(world.first)].book
        book = book if me else book.count(1, "one")
        parts = parts_given(book, participants=NAMES, nodes=4, bound=b"")
        boxes[me] = seal_parts(ahead, parts, giver=me, key=world.before.keys[me].signing)[0]
    with pytest.raises(RefusedError, match="after other runs than this one"):
        world.taken(tmp_path / "later", ahead, 0, books=boxes)


def test_a_book_that_moved_is_on_the_disk_with_its_series(world: World, tmp_path: Path) -> None:
    run = run_in(world.second, world.after.run(), 2, world.head)
    given = [world.ask(me, run) for me in range(3)]
    place = tmp_path / "later"
    book = world.taken(place, run, 1, books={me: given[me][1] for me in range(3)})
    kept = KeptSeries(place, most=9, node=1)
    kept.admit(run, signed(world.second), now=time.time(), moved=book)
    assert kept.knows(series_hash(world.second))
    again = KeptSeries(place, most=9, node=1).book_of(run)
    assert again is not None
    assert replace(again.book, steps={}, seeds=None) == replace(book, steps={}, seeds=None)  # type: ignore[type-var]
    assert kept.head([series_hash(world.second)]) == (world.head, 1)
    # Nobody takes such a series without the book.
    with pytest.raises(RefusedError, match="balances are not here"):
        KeptSeries(tmp_path, most=9, node=1).admit(run, signed(world.second), now=time.time())


def test_one_of_three_is_replaced_and_two_stay(world: World, tmp_path: Path) -> None:
    """Who stays gives and takes like everybody, in another place, and has both books."""
    stayed = [world.before.keys[2], world.before.keys[0]]
    world.after = Place([*stayed, Keys.new("node")], Place.of(3).sealing)
    world.second = made(world.after.run(), continues=series_hash(world.first))
    run = run_in(world.second, world.after.run(), 2, world.head)
    given = [world.ask(me, run) for me in range(3)]
    held = []
    for me, kept in enumerate([world.kept[2], world.kept[0], None]):
        own = SimpleNamespace(offered_for=lambda _, me=me: (world.after.sealing[me], me))
        books = {giver: given[giver][me] for giver in range(3)}
        earlier = signed(world.first)
        request = Agree(
            agreement=b"",
            signatures={},
            books=books,
            earlier=b"" if kept else earlier.data,
            earlier_signatures={} if kept else dict(earlier.signatures),
        )
        (tmp_path / "new").mkdir(exist_ok=True)
        kept = kept or KeptSeries(tmp_path / "new", most=9, node=2)
        book = moved_book(kept, own, run, signed(world.second), request)  # type: ignore[arg-type]
        kept.admit(run, signed(world.second), now=time.time(), moved=book)
        taken = kept.book_of(run)
        assert taken is not None
        assert taken.book.components == held_by(me, 3)
        held.append(taken.book)
    for name, step in zip(NAMES, STEPS, strict=True):
        assert reveal([book.own_steps(name) for book in held]).tolist() == [step]
    with pytest.raises(RefusedError, match="has taken over"):
        world.kept[0].book_of(run_in(world.first, world.before.run(), 2, world.head))


def test_a_key_that_signs_balances_is_not_forgotten_before_they_moved(
    world: World, tmp_path: Path
) -> None:
    config: Any = SimpleNamespace(folder=str(tmp_path), data="1", node=1)
    key = world.before.keys[1].signing_public
    assert agreements_naming(config, key) == [f"{FOLDER}/{series_hash(world.first)}"]
    assert agreements_naming(config, "ab" * 32) == []
    # Nobody says that the others have them all: it may have to give them again.
    world.ask(1, run_in(world.second, world.after.run(), 2, world.head))
    place = tmp_path / "1" / FOLDER / series_hash(world.first)
    assert agreements_naming(config, key) == [f"{FOLDER}/{place.name}"]
    (place / "book").unlink()
    assert agreements_naming(config, key) == []


def test_what_an_operator_deletes_is_refused_and_begins_nothing_anew(
    world: World, tmp_path: Path
) -> None:
    run = run_in(world.second, world.after.run(), 2, world.head)
    world.ask(1, run)
    place = tmp_path / "1" / FOLDER / series_hash(world.first)
    (place / "book").unlink()
    again = KeptSeries(tmp_path / "1", most=9, node=1)
    for head in (world.head, FIRST_HEAD):
        with pytest.raises(RefusedError, match="has taken over"):
            again.admit(
                run_in(world.first, world.before.run(), 3, head), signed(world.first), now=1.0
            )
    with pytest.raises(RefusedError, match="another head"):
        again.to_give(world.second, run)
    shutil.rmtree(place)
    with pytest.raises(RefusedError, match="was deleted here"):
        world.ask(1, run)
