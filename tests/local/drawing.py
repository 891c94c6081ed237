"""A process that draws keys and random numbers and writes them down, as JSON, in a file.

When a fork server imports it, it draws once, so that all generators have a state to share.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import ssl
import sys
import tempfile
from pathlib import Path

import nacl.utils
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.mpc.transport import make_certificate


def drawn() -> dict[str, str]:
    return {
        "ed25519": Ed25519PrivateKey.generate().private_bytes_raw().hex(),
        "x25519": X25519PrivateKey.generate().private_bytes_raw().hex(),
        "tls key": make_certificate("node")[1],
        "openssl": ssl.RAND_bytes(16).hex(),
        "libsodium": nacl.utils.random(16).hex(),
        "secrets": secrets.token_hex(16),
        "random": f"{random.getrandbits(128)}",
        "numpy": f"{np.random.default_rng().integers(2**62)}",
        "numpy, global": f"{np.random.bytes(16).hex()}",  # noqa: NPY002 - what libraries may draw from
        "temporary": tempfile.mktemp(),
    }


drawn()

if __name__ == "__main__":
    np.ones((300, 300)) @ np.ones((300, 300))  # so that a library with threads has them
    about = {
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "drawn": drawn(),
        "open": sorted(int(each.name) for each in Path("/proc/self/fd").iterdir()),
        "argv": sys.argv,
        "pid": os.getpid(),
        "session": os.getsid(0),
        "environment": os.environ.get("TACIT_TEST_WORD"),
        "folder": str(Path.cwd()),
    }
    Path(sys.argv[1]).write_text(json.dumps(about))
    if sys.argv[2:] == ["stay"]:
        sys.stdin.buffer.read()
    sys.exit(7)
