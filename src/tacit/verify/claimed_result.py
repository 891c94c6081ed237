"""A result as a platform shows it, as far as it is checked: from itself, a bundle, or kept here."""

from __future__ import annotations

import msgspec

from tacit.verify.verdict import Claim


class ClaimedPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan with what is said of it."""

    items: list[int]
    values: list[float | None] | None = None
    weightings: list[str] | None = None


class ClaimedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the platform claims."""

    state: str
    plan: ClaimedPlan | None = None
    front: list[ClaimedPlan] | None = None
    generation: int | None = None
    proved: bool | None = None
    gaps: list[float] | None = None
    for_owners: bool = False

    @classmethod
    def of(cls, result: object, /) -> ClaimedResult:
        """As much of a result as is checked."""
        return msgspec.convert(result, cls, from_attributes=True)

    @property
    def says_something(self) -> bool:
        """Whether there is anything in it to be held against the ledger."""
        return any(each is not None for each in (self.plan, self.front, self.proved, self.gaps))

    def claim(self) -> Claim:
        """All that is to be held against logs and ledger."""
        front = self.front or []
        plans = [*([] if self.plan is None else [self.plan]), *front]
        return Claim(
            None if self.plan is None else self.plan.items,
            self.generation,
            others=[each.items for each in front],
            proved=self.proved,
            gaps=self.gaps,
            found_for=[(each.items, each.weightings or []) for each in plans],
            values=[(each.items, each.values or []) for each in plans],
        )


_DECODER = msgspec.json.Decoder(ClaimedResult)


def read_claimed(data: bytes, /) -> ClaimedResult:
    """Read it from JSON; a `msgspec.DecodeError` if it is none."""
    return _DECODER.decode(data)
