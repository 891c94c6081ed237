"""Transport: frames, links in memory, over TLS and with faults, and conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.transport.carrier import Carrier, Passage
    from tacit.mpc.transport.certificate import (
        alternative_names,
        certificate_hosts,
        fingerprint,
        make_certificate,
        secret_pem,
        split_certificates,
        started_certificate,
    )
    from tacit.mpc.transport.faulty import Faults, FaultyLink, delayed
    from tacit.mpc.transport.frame import (
        FRAME_LIMIT,
        HEADER_BYTES,
        Buffer,
        Channel,
        Frame,
        Header,
        Kind,
        decode,
        encode,
    )
    from tacit.mpc.transport.frame_budget import FrameBudget
    from tacit.mpc.transport.link import Link
    from tacit.mpc.transport.listener import Listener
    from tacit.mpc.transport.memory import MemoryLink, memory_pair
    from tacit.mpc.transport.mux import Conversation, Mux
    from tacit.mpc.transport.tls import Identity, TlsLink, connect, not_accepted
    from tacit.mpc.transport.tls_inside import link_inside
else:
    __getattr__ = lazily(__name__)
