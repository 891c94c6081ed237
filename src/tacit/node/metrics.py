"""Count and time a node's requests for Prometheus, without a word about whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tacit.identity.config import parse_address

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class _Expiry(Collector):
    """The expiry of certificates, looked up at every scrape: they rotate while the node runs."""

    def __init__(self, read: Callable[[], dict[str, float]]) -> None:
        self._read = read

    def collect(self) -> Iterable[GaugeMetricFamily]:
        family = GaugeMetricFamily(
            "tacit_node_certificate_expires_timestamp_seconds",
            "When the certificate of a party expires",
            labels=["party"],
        )
        for party, at in self._read().items():
            family.add_metric([party], at)
        yield family


class NodeMetrics:
    """The figures of a node."""

    def __init__(
        self,
        *,
        agreements: Callable[[], float],
        peers: Callable[[], float],
        relayed: Callable[[], float],
        passing: Callable[[], float],
        stored: Callable[[], float],
        certificates_expire: Callable[[], dict[str, float]],
    ) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "tacit_node_requests",
            "Requests by kind and outcome",
            ["kind", "outcome"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "tacit_node_request_seconds",
            "How long requests took",
            ["kind"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        for name, what, read in (
            ("agreements", "Agreements that are kept", agreements),
            ("peers_connected", "Other nodes of the cluster that are connected", peers),
            ("peers_relayed", "Of those, the ones that are reached through another", relayed),
            ("relays", "Links of other nodes that go through this one", passing),
            ("stored_bytes", "Bytes kept for platforms", stored),
        ):
            Gauge(f"tacit_node_{name}", what, registry=self.registry).set_function(read)

        self.registry.register(_Expiry(certificates_expire))

    def answered(self, kind: str, outcome: str, seconds: float, /) -> None:
        self._requests.labels(kind, outcome).inc()
        self._seconds.labels(kind).observe(seconds)

    def serve(self, address: str, /) -> Callable[[], None]:
        """Answer Prometheus at an address, in a thread; call what is returned to stop."""
        host, port = parse_address(address)
        server, thread = start_http_server(port, addr=host, registry=self.registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop
