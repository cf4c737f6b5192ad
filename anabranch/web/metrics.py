"""Numbers for Prometheus: how stale the stream tables are, what refreshes did, what was asked over HTTP.

Counters follow the history, so they count what every process did since this service began. Values of labels
are bounded: names of stream tables up to a limit, routes, and words of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from anabranch.inspect.history import RefreshRecord
from anabranch.inspect.status import StreamTableStatus

MAX_NAMES = 2_000
"""Stream tables with a label of their own; the others are counted as `other`."""
OTHER = "other"
STATES = ("INITIALIZING", "ACTIVE", "SUSPENDED", "ERROR")
SCHEDULER_STATES = ("leading", "waiting", "stopped")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REFRESH_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics of one service, on a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._names: set[str] = set()
        self._refreshes = Counter(
            "anabranch_refreshes",
            "Entries of the refresh history, by action and outcome.",
            ("stream_table", "action", "status"),
            registry=self.registry,
        )
        self._failures = Counter(
            "anabranch_refresh_failures",
            "Refreshes that failed, by the code of their error.",
            ("code",),
            registry=self.registry,
        )
        self._rows = Counter(
            "anabranch_refresh_rows",
            "Rows that refreshes inserted or deleted.",
            ("stream_table", "change"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "anabranch_refresh_seconds",
            "How long refreshes took that did something.",
            ("action",),
            buckets=_REFRESH_SECONDS,
            registry=self.registry,
        )
        self._steps = Counter(
            "anabranch_steps",
            "Steps of this service's scheduler and actions, by kind.",
            ("kind",),
            registry=self.registry,
        )
        self._requests = Counter(
            "anabranch_http_requests",
            "Requests over HTTP, by route.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "anabranch_http_request_seconds",
            "How long requests took; an event stream as long as it was open.",
            ("route",),
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )

    def label_for(self, name: str) -> str:
        """A stream table's name as a label, or `other` once there are too many."""
        if name not in self._names:
            if len(self._names) >= MAX_NAMES:
                return OTHER
            self._names.add(name)
        return name

    def count_refresh(self, entry: RefreshRecord) -> None:
        """Count one entry of the history."""
        name = self.label_for(entry.stream_table)
        self._refreshes.labels(name, entry.action, entry.status).inc()
        if entry.status == "FAILED":
            self._failures.labels(entry.error_code or "none").inc()
        if entry.rows_inserted:
            self._rows.labels(name, "inserted").inc(entry.rows_inserted)
        if entry.rows_deleted:
            self._rows.labels(name, "deleted").inc(entry.rows_deleted)
        if entry.status in ("SUCCEEDED", "FAILED") and entry.action not in ("NO_DATA", "SKIP"):
            self._seconds.labels(entry.action).observe(entry.seconds)

    def count_step(self, kind: str) -> None:
        """Count a step."""
        self._steps.labels(kind).inc()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method in _METHODS else OTHER, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def register_gauges(self, look: Callable[[], Iterable[Metric]]) -> None:
        """Ask `look` whenever the metrics are read."""
        self.registry.register(_GaugeCollector(look))

    def render_text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)


class _GaugeCollector(Collector):
    """Gauges that are read from the lake, not kept."""

    def __init__(self, look: Callable[[], Iterable[Metric]]) -> None:
        self._look = look

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: the lake is looked at when somebody asks."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """What the lake says now."""
        return self._look()


def gauges(
    lsn: int,
    entries: Sequence[StreamTableStatus],
    scheduler: str,
    clients: int,
    statements: int,
    name: Callable[[str], str],
) -> Iterator[Metric]:
    """The state of the lake and the service, as gauges."""
    yield _gauge("anabranch_lsn", "The number of the newest commit.", lsn)
    yield _gauge("anabranch_event_streams", "Event streams that are open.", clients)
    meaning = "Statements that Spark has run for this service, refreshes and verifications alike."
    yield CounterMetricFamily("anabranch_spark_statements", meaning, value=statements)
    leads = GaugeMetricFamily("anabranch_scheduler", "1 for the state of this scheduler.", labels=["state"])
    for state in SCHEDULER_STATES:
        leads.add_metric([state], float(state == scheduler))
    yield leads
    tables = GaugeMetricFamily("anabranch_stream_tables", "Stream tables, by status.", labels=["status"])
    for state in STATES:
        tables.add_metric([state], sum(entry.status == state for entry in entries))
    yield tables
    held = GaugeMetricFamily("anabranch_held", "Stream tables that wait, by what for.", labels=["reason"])
    reasons = [hold_reason(entry) for entry in entries]
    for reason in HOLD_REASONS:
        held.add_metric([reason], reasons.count(reason))
    yield held
    shown = {name(entry.name): entry for entry in entries if name(entry.name) != OTHER}
    per_table: Sequence[tuple[str, str, Callable[[StreamTableStatus], float | None]]] = (
        ("lag_seconds", "How old the oldest change is that is not reflected yet.", lambda e: e.lag_seconds),
        ("consecutive_failures", "Refreshes in a row that failed.", lambda e: e.consecutive_failures),
        ("rows", "Rows of a stream table.", lambda e: e.rows),
        ("active", "1 for a stream table that is ACTIVE.", lambda e: float(e.status == "ACTIVE")),
        (
            "fuse_blown",
            "1 for a stream table whose fuse has blown.",
            lambda e: float(e.fuse_state == "blown"),
        ),
    )
    for suffix, meaning, value in per_table:
        family = GaugeMetricFamily(f"anabranch_stream_table_{suffix}", meaning, labels=["stream_table"])
        for label, entry in shown.items():
            if (number := value(entry)) is not None:
                family.add_metric([label], number)
        yield family


HOLD_REASONS = ("gate", "fuse", "suspended", "error", "failure", "other")


def hold_reason(entry: StreamTableStatus) -> str | None:
    """Why a stream table is not refreshed now, in one of a few words; None if nothing holds it."""
    if entry.fuse_state == "blown":
        return "fuse"
    if entry.status in ("SUSPENDED", "ERROR"):
        return entry.status.lower()
    if entry.gated_by_sources:
        return "gate"
    if entry.held is not None:
        return "failure" if entry.consecutive_failures else "other"
    return None


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)
