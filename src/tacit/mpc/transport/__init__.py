"""How parties talk: frames, links in memory, over TLS and with faults, and conversations."""

from tacit.mpc.transport.certificate import make_certificate
from tacit.mpc.transport.faulty import Faults, FaultyLink, delayed
from tacit.mpc.transport.frame import (
    FRAME_LIMIT,
    HEADER_BYTES,
    Channel,
    Frame,
    Header,
    Kind,
    decode,
    encode,
)
from tacit.mpc.transport.link import Link
from tacit.mpc.transport.memory import MemoryLink, memory_pair
from tacit.mpc.transport.mux import Conversation, Mux
from tacit.mpc.transport.tls import Identity, TlsLink, connect, fingerprint, serve

__all__ = [
    "FRAME_LIMIT",
    "HEADER_BYTES",
    "Channel",
    "Conversation",
    "Faults",
    "FaultyLink",
    "Frame",
    "Header",
    "Identity",
    "Kind",
    "Link",
    "MemoryLink",
    "Mux",
    "TlsLink",
    "connect",
    "decode",
    "delayed",
    "encode",
    "fingerprint",
    "make_certificate",
    "memory_pair",
    "serve",
]
