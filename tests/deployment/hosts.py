"""Hosts on one machine: a network namespace each, joined by a relay alone.

Every host has one cable, to the namespace of the network. Nothing is routed there: a host reaches
another only at an address that belongs to the relay (`relay.py`), so that whatever two hosts say to
each other has the delay, the bandwidth and the faults of the link between them. The addresses are
those that RFC 2544 keeps for tests of networks, and they exist in these namespaces alone.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.deployment.relay import Relay, Way

CLONE_NEWNET = 0x40000000
_OWN = Path("/proc/thread-self/ns/net")


def why_not() -> str:
    """Why there can be no hosts here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "there is no `ip`; install Debian's iproute2"
    name = f"tacit-{secrets.token_hex(3)}"
    tried = subprocess.run(
        ["ip", "netns", "add", name], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        return f"no network namespaces here: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return ""


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """A block in which this thread, and what it starts, is on a host."""
    with ExitStack() as stack:
        own = os.open(_OWN, os.O_RDONLY)
        stack.callback(os.close, own)
        there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
        stack.callback(os.close, there)
        _enter(there)
        try:
            yield
        finally:
            _enter(own)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Hosts:
    """Use it in a `with` statement: namespaces, cables and relay go with the block."""

    def __init__(self, names: Sequence[str], *, ports: dict[str, int]) -> None:
        """`ports` says who listens, and where."""
        self._names, self._ports = list(names), ports
        self._prefix = f"tacit-{secrets.token_hex(3)}"
        self._made: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> Hosts:
        try:
            self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def inside(self, host: str) -> ExitStack:
        """A block whose thread and processes are on this host."""
        stack = ExitStack()
        stack.enter_context(inside(self._namespace(host)))
        return stack

    def address(self, host: str) -> str:
        """Where the others find it: at the relay."""
        return f"198.18.250.{self._number(host)}:{self._ports[host]}"

    @property
    def relay(self) -> Relay:
        """The only way from host to host."""
        return self._relay

    def _open(self) -> None:
        self._add("network")
        self._ip("network", "link", "set", "lo", "up")
        with self.inside("network"):
            # Nothing passes but through the relay.
            Path("/proc/sys/net/ipv4/ip_forward").write_text("0")
        for host in self._names:
            self._connect(host)
        ways = [
            Way(host, self.address(host), f"198.18.{self._number(host)}.2:{port}")
            for host, port in self._ports.items()
        ]
        hosts = {f"198.18.{self._number(host)}.2": host for host in self._names}
        self._relay = Relay(ways, hosts, lambda: inside(self._namespace("network")))
        self._relay.start()
        self._stack.callback(self._relay.stop)

    def _connect(self, host: str) -> None:
        number = self._number(host)
        self._add(host)
        far = f"to-{number}"
        # Both ends are made where they belong: no name can be taken by somebody else.
        peer = ("peer", "name", "eth0", "netns", self._namespace(host))
        self._ip("network", "link", "add", far, "type", "veth", *peer)
        self._ip("network", "address", "add", f"198.18.{number}.1/24", "dev", far)
        self._ip("network", "link", "set", far, "up")
        self._ip("network", "address", "add", f"198.18.250.{number}/32", "dev", "lo")
        self._ip(host, "address", "add", f"198.18.{number}.2/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._ip(host, "link", "set", device, "up")
        self._ip(host, "route", "add", "default", "via", f"198.18.{number}.1")

    def _number(self, host: str) -> int:
        return self._names.index(host) + 1

    def _namespace(self, host: str) -> str:
        return f"{self._prefix}-{host}"

    def _add(self, host: str) -> None:
        subprocess.run(["ip", "netns", "add", self._namespace(host)], check=True)
        self._made.append(self._namespace(host))

    def _ip(self, host: str, *words: str) -> None:
        subprocess.run(["ip", "-n", self._namespace(host), *words], check=True)

    def _close(self) -> None:
        self._stack.close()
        for namespace in self._made:
            subprocess.run(["ip", "netns", "del", namespace], check=False)
        self._made.clear()
