"""Several threads that use a platform at once, each with a connection of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

# A new interpreter: what crashed was the first use of a type, by two threads at once.
PROGRAM = """
import sys
import threading

from tacit.client import PlatformClient
from tacit.client.models import RunView
from tacit.errors import UnreadableError

sys.setswitchinterval(1e-6)
all_at_once = threading.Barrier(4)
answer = b'{"id":"r-1","name":"x","state":"draft","terms":{"name":"y","problem":{"name":"s"}}}'


def read():
    client = PlatformClient("http://127.0.0.1:1")
    all_at_once.wait()
    for _ in range(3):
        try:
            client._read(answer, RunView)
        except UnreadableError:
            continue


threads = [threading.Thread(target=read) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


def test_threads_read_answers_of_one_kind_at_once() -> None:
    # The crash came in every third interpreter or so.
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-500:]
