"""Transport: frames, links in memory, over TLS and with faults, and conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.transport.certificate import (
        alternative_names,
        certificate_hosts,
        fingerprint,
        fingerprints,
        make_certificate,
        secret_pem,
        split_certificates,
        started_certificate,
    )
    from tacit.mpc.transport.early_frames import EarlyFrames, EarlyLimits
    from tacit.mpc.transport.frame import (
        FRAME_LIMIT,
        HEADER_BYTES,
        Buffer,
        Channel,
        Frame,
        FrameBudget,
        FrameKind,
        FrameReader,
        Header,
        decode,
        encode,
    )
    from tacit.mpc.transport.link import (
        Faults,
        FaultyLink,
        Inbox,
        Link,
        MemoryLink,
        delayed,
        memory_pair,
    )
    from tacit.mpc.transport.listener import Listener
    from tacit.mpc.transport.mux import Conversation, Mux, NoticeHandler
    from tacit.mpc.transport.relay import Carrier, Passage, link_inside
    from tacit.mpc.transport.tls import PROTOCOL, Identity, TlsLink, connect, not_accepted
else:
    __getattr__ = lazily(__name__)
