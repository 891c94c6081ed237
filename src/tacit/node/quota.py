"""What a node keeps for a platform: so many agreements, so many bytes, for so long.

A platform can sign agreements with participants that it invents, so that nobody's signature limits
how much it has a node keep. What has expired goes after a while, with its log.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tacit.files import replace_secret
from tacit.identity.config import NodeConfig
from tacit.node.state.agreement_state import AgreementState
from tacit.node.state.policy import refuse
from tacit.wire.replies import RefusalKind

DAY = 86400.0
MEGABYTE = 1_000_000
REMOVED = ".removed"
"""How a folder is called while it goes, so that half of one is never taken for an agreement."""
EXPIRED = "expired"
"""The folder of what has gone: an empty file per agreement, so that none ever counts anew."""
LOOK_AGAIN_SECONDS = 1.0


class Quota:
    """What each platform may have a node keep."""

    def __init__(
        self,
        config: NodeConfig,
        agreement_states: Callable[[], Iterable[AgreementState]],
        /,
        *,
        are_one_platform: Callable[[str, str], bool] = str.__eq__,
    ) -> None:
        self._most_agreements = config.most_agreements
        self._most_bytes = config.most_megabytes * MEGABYTE
        self._most_agreed_bytes = config.most_agreed_megabytes * MEGABYTE
        self._keep_seconds = config.keep_days * DAY
        self._agreement_states, self._are_one = agreement_states, are_one_platform
        self._seen: dict[str, tuple[float, int]] = {}

    def _of(self, platform: str) -> list[AgreementState]:
        return [
            each
            for each in self._agreement_states()
            if self._are_one(each.agreement.platform, platform)
        ]

    def used(self, platform: str, /) -> int:
        """Bytes kept for a platform, as of a second ago or less."""
        now = time.monotonic()
        at, seen = self._seen.get(platform, (-LOOK_AGAIN_SECONDS, 0))
        if now - at >= LOOK_AGAIN_SECONDS:
            seen = sum(each.store.size for each in self._of(platform))
            self._seen[platform] = (now, seen)
        return seen

    def is_full(self, platform: str, /) -> bool:
        """Whether nothing more is kept for a platform."""
        return self.used(platform) >= self._most_bytes

    def check_count(self, size: int, platform: str, /) -> None:
        """Refuse one more agreement than the platform may have, by its length alone."""
        kept = self._of(platform)
        if sum(each.store.agreement_bytes for each in kept) + size > self._most_agreed_bytes:
            raise refuse(
                f"agreements of {self._most_agreed_bytes // MEGABYTE} MB are kept for this "
                "platform already; wait until some have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        if len(kept) >= self._most_agreements:
            raise refuse(
                f"{self._most_agreements} agreements are kept for this platform already; wait "
                "until some have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        self.check_room(platform)

    def check_room(self, platform: str, /, more: int = 0) -> None:
        """Refuse to keep more bytes than the platform may have."""
        used = self.used(platform) + more
        if used > self._most_bytes or self.is_full(platform):
            raise refuse(
                f"{self._most_bytes // MEGABYTE} MB are kept for this platform already; wait until "
                "some agreements have expired, or ask the operator of the node",
                kind=RefusalKind.FULL,
            )
        # Until the next look, so that nobody slips in between two.
        self._seen[platform] = (self._seen[platform][0], used)

    def outlived(self, now: float, /) -> list[AgreementState]:
        """What has expired so long ago that it need not be kept."""
        return [
            each
            for each in self._agreement_states()
            if now >= each.agreement.limits.expires + self._keep_seconds
        ]


def tombstone(data: Path, agreement: bytes, /) -> None:
    """Remember that an agreement was here, before anything of it goes.

    A clock that ran ahead may be set back, and the same agreement would be good again.
    """
    (data / EXPIRED).mkdir(exist_ok=True, mode=0o700)
    replace_secret(data / EXPIRED / agreement.hex(), b"")


def has_tombstone(data: Path, agreement: bytes, /) -> bool:
    """Whether an agreement was here and has gone."""
    return (data / EXPIRED / agreement.hex()).exists()


def remove_folder(folder: Path, /) -> None:
    """Remove an agreement's folder; what a crash leaves of it goes with `remove_leftovers`."""
    going = folder.with_name(folder.name + REMOVED)
    folder.rename(going)
    shutil.rmtree(going, ignore_errors=True)


def remove_leftovers(data: Path, /) -> None:
    """Remove what was being removed when the node ended."""
    for path in data.glob(f"*{REMOVED}"):
        shutil.rmtree(path, ignore_errors=True)
