"""Transport: frames, links in memory, over TLS and with faults, and conversations."""

from tacit.mpc.transport.certificate import make_certificate as make_certificate
from tacit.mpc.transport.faulty import (
    Faults as Faults,
    FaultyLink as FaultyLink,
    delayed as delayed,
)
from tacit.mpc.transport.frame import (
    FRAME_LIMIT as FRAME_LIMIT,
    HEADER_BYTES as HEADER_BYTES,
    Channel as Channel,
    Frame as Frame,
    Header as Header,
    Kind as Kind,
    decode as decode,
    encode as encode,
)
from tacit.mpc.transport.link import Link as Link
from tacit.mpc.transport.memory import MemoryLink as MemoryLink, memory_pair as memory_pair
from tacit.mpc.transport.mux import Conversation as Conversation, Mux as Mux
from tacit.mpc.transport.tls import (
    Identity as Identity,
    TlsLink as TlsLink,
    connect as connect,
    fingerprint as fingerprint,
)
