"""Under which addresses participants know this platform: what they sign to join names one."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from tacit.client import platform_address
from tacit.identity import parse_address, read_certificate
from tacit.mpc.transport import certificate_hosts
from tacit.service.server.settings import Settings


def own_addresses(settings: Settings, /) -> frozenset[str]:
    """The address in `service.toml`, and other names that the platform's certificate is for.

    Every computer calls itself `localhost`, so that counts only where the address is such a one.
    """
    own = platform_address(settings.url)
    if settings.tls_certificate is None:
        return frozenset({own})
    # Where it listens at port 0, the system chooses one, which nobody knows it by.
    ports = {urlsplit(own).port, parse_address(settings.listen)[1]} - {0}
    hosts = certificate_hosts(read_certificate(settings.place(settings.tls_certificate)))
    if not _is_loopback(urlsplit(own).hostname or ""):
        hosts = [host for host in hosts if not _is_loopback(host)]
    shown = [f"[{host}]" if ":" in host else host for host in hosts if "*" not in host]
    others = {platform_address(f"https://{host}:{port}") for host in shown for port in ports}
    return frozenset({own, *others})


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
