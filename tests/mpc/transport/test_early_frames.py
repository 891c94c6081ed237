"""Frames that come early: what is kept is what a plain model keeps, and never above the limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tacit.mpc.transport import Channel, EarlyFrames, EarlyLimits, Frame, FrameKind, Header
from tacit.mpc.transport.early_frames import notice_about, whole_of
from tacit.mpc.transport.link import kept_bytes

LIMITS = EarlyLimits(channels=6, frames=9, size=8000, seconds=10.0, dropped=5)
AGREEMENTS = [bytes([number]) * 16 for number in range(3)]


def frame(channel: Channel, length: int = 0) -> Frame:
    return Frame(Header(channel, bytes(8), 0, 0, length), bytes(length))


@dataclass
class Model:
    """The same with plain lists that are searched."""

    kept: list[tuple[Channel, float, list[Frame]]] = field(default_factory=list)

    def amounts(self, agreement: bytes | None = None) -> tuple[int, int, int]:
        """Channels, frames and bytes: of an agreement, or in all."""
        own = [each for c, _, each in self.kept if agreement in (None, c.agreement)]
        frames = [one for each in own for one in each]
        return len(own), len(frames), sum(map(kept_bytes, frames))

    def add(self, one: Frame, now: float) -> bool:
        channel = one.header.channel
        here = [each for c, _, each in self.kept if c == channel]
        more = (int(not here), 1, kept_bytes(one))
        limits = (LIMITS.channels, LIMITS.frames, LIMITS.size)
        own, kept = self.amounts(channel.agreement), self.amounts()
        if any(o + m > most - k for o, m, most, k in zip(own, more, limits, kept, strict=True)):
            return False
        if here:
            here[0].append(one)
        else:
            self.kept.append((channel, now, [one]))
        return True

    def take(self, channel: Channel) -> list[Frame]:
        found = [one for c, _, each in self.kept if c == channel for one in each]
        self.kept = [each for each in self.kept if each[0] != channel]
        return found

    def drop(self, whole: Channel) -> None:
        self.kept = [each for each in self.kept if whole_of(each[0]) != whole]

    def expire(self, now: float) -> None:
        self.kept = [each for each in self.kept if each[1] > now - LIMITS.seconds]


CHANNELS = st.builds(
    Channel,
    st.sampled_from(AGREEMENTS),
    evaluation=st.integers(0, 2),
    substream=st.sampled_from([0, 1, 2]),
    kind=st.sampled_from([FrameKind.PROTOCOL, FrameKind.EPOCH, FrameKind.NOTICE]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), CHANNELS, st.sampled_from([0, 100, 3000])),
        st.tuples(st.sampled_from(["take", "drop"]), CHANNELS, st.just(0)),
        st.tuples(st.just("expire"), CHANNELS, st.integers(0, 12)),
    ),
    max_size=60,
)


def test_one_agreement_leaves_room_for_another() -> None:
    early = EarlyFrames(LIMITS)
    greedy, other = (Channel(agreement) for agreement in AGREEMENTS[:2])
    for number in range(20):
        early.add(frame(greedy._replace(evaluation=number)), now=0.0)
    assert len(early) == LIMITS.channels // 2
    assert early.add(frame(other), now=0.0)
    assert early.take(other)


def test_one_agreement_leaves_memory_for_another() -> None:
    early = EarlyFrames(LIMITS)
    greedy, other = (Channel(agreement) for agreement in AGREEMENTS[:2])
    assert early.add(frame(greedy, 3000), now=0.0)
    assert not early.add(frame(greedy, 3000), now=0.0)
    assert early.add(frame(other, 3000), now=0.0)


def test_it_overflows_after_more_than_so_many_in_a_time() -> None:
    early, channel = EarlyFrames(LIMITS), Channel(AGREEMENTS[0])
    while early.add(frame(channel), now=0.0):
        pass
    for _ in range(LIMITS.dropped - 1):
        early.add(frame(channel), now=1.0)
    assert not early.overflows
    early.add(frame(channel), now=20.0)  # those of before do not count any more
    for _ in range(LIMITS.dropped - 1):
        early.add(frame(channel), now=21.0)
    assert not early.overflows
    early.add(frame(channel), now=21.0)
    assert early.overflows


@given(STEPS)
def test_what_is_kept_is_what_a_model_keeps_within_the_limits(
    steps: list[tuple[str, Channel, int]],
) -> None:
    early, model, now = EarlyFrames(LIMITS), Model(), 0.0
    for step, channel, number in steps:
        match step:
            case "add":
                one = frame(channel, number)
                assert early.add(one, now=now) == model.add(one, now)
            case "take":
                assert early.take(channel) == model.take(channel)
            case "drop":
                early.drop(whole_of(channel))
                model.drop(whole_of(channel))
            case "expire":
                now += number
                early.expire(now)
                model.expire(now)
        channels, frames, size = model.amounts()
        assert channels <= LIMITS.channels
        assert frames <= LIMITS.frames
        assert size <= LIMITS.size
        assert len(early) == channels
        for whole in {whole_of(c) for c, _, _ in model.kept}:
            noticed = any(c == notice_about(whole) for c, _, _ in model.kept)
            assert early.has_notice(whole) == noticed
    # Nothing is counted that is not kept.
    for channel, _, frames_of in list(model.kept):
        assert early.take(channel) == frames_of
    assert len(early) == 0
    assert not early._wholes
    assert not early._agreements
    assert (early._kept.channels, early._kept.frames, early._kept.size) == (0, 0, 0)
