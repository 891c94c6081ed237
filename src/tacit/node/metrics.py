"""Count and time a node's requests for Prometheus, without a word about whose they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tacit.identity.config import parse_address
from tacit.supervisor import Supervisor

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class _NodeTasks(Collector):
    """How the node's background tasks are doing, for an alarm where one fails again and again."""

    def __init__(self, tasks: Supervisor) -> None:
        self._tasks = tasks

    def collect(self) -> Iterable[Metric]:
        failures = CounterMetricFamily(
            "tacit_node_task_failures", "Rounds of background tasks that failed", labels=["task"]
        )
        failing = GaugeMetricFamily(
            "tacit_node_tasks_failing", "Tasks whose last round failed", labels=["task"]
        )
        for name, health in list(self._tasks.health.items()):
            failures.add_metric([name], health.failures)
            failing.add_metric([name], health.failing)
        yield from (failures, failing)


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


class _Room(Collector):
    """The parts of the room for each platform that are taken, by the settings that limit it."""

    def __init__(self, read: Callable[[], dict[tuple[str, str], float]]) -> None:
        self._read = read

    def collect(self) -> Iterable[GaugeMetricFamily]:
        family = GaugeMetricFamily(
            "tacit_node_room_used_ratio",
            "Which part of a platform's room is taken",
            labels=["platform", "limit"],
        )
        for labels, used in self._read().items():
            family.add_metric(labels, used)
        yield family


class NodeMetrics:
    """The figures of a node."""

    def __init__(
        self,
        gauges: Mapping[str, tuple[str, Callable[[], float]]],
        /,
        *,
        room_used: Callable[[], dict[tuple[str, str], float]],
        certificates_expire: Callable[[], dict[str, float]],
        tasks: Supervisor,
    ) -> None:
        """`gauges` have what they say and how they are read, by name."""
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
        for name, (what, read) in gauges.items():
            Gauge(f"tacit_node_{name}", what, registry=self.registry).set_function(read)

        self.registry.register(_Expiry(certificates_expire))
        self.registry.register(_Room(room_used))
        self.registry.register(_NodeTasks(tasks))

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
