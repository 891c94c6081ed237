"""Count requests, runs, lateness and the load of clusters for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tacit.client import ClusterView
from tacit.identity import parse_address
from tacit.supervisor import Supervisor

LATENESS_BUCKETS = (0.0, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class ServiceMetrics:
    """Counts and times without a name of any participant."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Histogram(
            "tacit_request_seconds",
            "Requests by method and status",
            ["method", "status"],
            buckets=REQUEST_BUCKETS,
            registry=self._registry,
        )
        self._ended = Counter(
            "tacit_runs_ended", "Runs that came to an end", ["state"], registry=self._registry
        )
        self._late = Histogram(
            "tacit_answer_late_seconds",
            "How long after its deadline a run was answered and stored",
            buckets=LATENESS_BUCKETS,
            registry=self._registry,
        )
        self._evaluations = Counter(
            "tacit_evaluations", "Populations evaluated on the nodes", registry=self._registry
        )
        self._handing_over = Gauge(
            "tacit_runs_handing_over", "Runs being handed to nodes", registry=self._registry
        )

        self._workers = Gauge(
            "tacit_workers", "Processes that execute runs", registry=self._registry
        )

    def watch_clusters(self, statuses: Callable[[], Iterable[ClusterView]], /) -> None:
        """Report the clusters at every scrape."""
        self._registry.register(_Clusters(statuses))

    def watch_tasks(self, tasks: Supervisor, /) -> None:
        """Report the background tasks at every scrape."""
        self._registry.register(_ServiceTasks(tasks))

    def workers(self, count: int, /) -> None:
        self._workers.set(count)

    def request(self, method: str, status: int, seconds: float, /) -> None:
        self._requests.labels(method, str(status)).observe(seconds)

    def run_ended(self, state: str, /, *, late_by: float, evaluations: int) -> None:
        """A run ended after so many evaluations; `late_by` is how long after its deadline."""
        self._ended.labels(state).inc()
        self._late.observe(max(0.0, late_by))
        self._evaluations.inc(evaluations)

    def handing_over(self, count: int, /) -> None:
        self._handing_over.set(count)

    def serve(self, address: str, /) -> Callable[[], None]:
        """Answer Prometheus at an address, in a thread; call what is returned to stop."""
        host, port = parse_address(address)
        server, thread = start_http_server(port, addr=host, registry=self._registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop

    def render(self) -> bytes:
        data: bytes = generate_latest(self._registry)
        return data


class _ServiceTasks(Collector):
    def __init__(self, tasks: Supervisor) -> None:
        self._tasks = tasks

    def collect(self) -> Iterable[Metric]:
        failures = CounterMetricFamily(
            "tacit_task_failures", "Rounds of background tasks that failed", labels=["task"]
        )
        failing = GaugeMetricFamily(
            "tacit_tasks_failing", "Tasks whose last round failed", labels=["task"]
        )
        for name, health in list(self._tasks.health.items()):
            failures.add_metric([name], health.failures)
            failing.add_metric([name], health.failing)
        yield from (failures, failing)


class _Clusters(Collector):
    def __init__(self, statuses: Callable[[], Iterable[ClusterView]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterable[GaugeMetricFamily]:
        running = GaugeMetricFamily("tacit_cluster_running", "Slots taken", labels=["cluster"])
        waiting = GaugeMetricFamily("tacit_cluster_waiting", "Runs that wait", labels=["cluster"])
        labels = ["cluster", "node"]
        there = GaugeMetricFamily("tacit_node_reachable", "Whether a node answers", labels=labels)
        clock = GaugeMetricFamily(
            "tacit_node_clock_offset_seconds", "How much later its clock is", labels=labels
        )
        room = GaugeMetricFamily(
            "tacit_node_room_used_ratio",
            "Which part of a node's room for this platform is taken, as it says",
            labels=labels,
        )
        expire = GaugeMetricFamily(
            "tacit_certificate_expires_timestamp_seconds",
            "When the certificate expires that a node, or the platform, shows",
            labels=["cluster", "party"],
        )
        for cluster in self._statuses():
            if cluster.certificate_expires is not None:
                expire.add_metric([cluster.name, "platform"], cluster.certificate_expires)
            running.add_metric([cluster.name], cluster.running)
            waiting.add_metric([cluster.name], cluster.waiting)
            for number, node in enumerate(cluster.nodes):
                there.add_metric([cluster.name, str(number)], float(node.reachable))
                if node.clock_offset_seconds is not None:
                    clock.add_metric([cluster.name, str(number)], node.clock_offset_seconds)
                if node.room_used is not None:
                    room.add_metric([cluster.name, str(number)], node.room_used)
                if node.certificate_expires is not None:
                    expire.add_metric([cluster.name, f"node {number}"], node.certificate_expires)
        yield from (running, waiting, there, clock, room, expire)
