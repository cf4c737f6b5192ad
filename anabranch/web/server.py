"""Running the service: HTTP and the scheduler in one process, until it is told to stop."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import uvicorn

from anabranch.connection.open_lake import check_argument
from anabranch.errors import InvalidServiceOption, ServiceFailed
from anabranch.lake import Lake
from anabranch.web.app import GRACE, build_app
from anabranch.web.guard import Limits
from anabranch.web.logs import log_as_json
from anabranch.web.service import Service

CLOSING = 5
"""Seconds that open requests have to end once the service stops."""
MAX_CONNECTIONS = 512


def serve(
    lake: Lake,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    scheduler: bool = True,
    stop: threading.Event | None = None,
    started: Callable[[str], None] | None = None,
    tell: Callable[[str], None] = print,
    grace: float = GRACE,
    limits: Limits | None = None,
) -> None:
    """Serve a lake, and schedule it, until `stop` is set or a SIGTERM or SIGINT comes.

    Without a `token` one is made and told once; an address that others can reach needs a given one. `port` 0
    takes one that is free. `started` is called with the service's address once it listens. On the way out the
    refreshes that run are finished, within `grace` seconds, and the lease is given back.
    """
    check_argument("lake", lake, "status", "run")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65_535:
        raise InvalidServiceOption(f"{ascii(port)[:40]} is no port", hint="take one from 1 to 65535.")
    app = build_app(
        lake,
        token=token,
        host=host,
        allow_hosts=allow_hosts,
        scheduler=scheduler,
        limits=limits,
        grace=grace,
    )
    lake.pulse()  # what is wrong with the lake is said before anything listens
    service: Service = app.state.service
    listening = _listen(host, port)

    def announce_start() -> None:
        address = _address(listening)
        if token is None:
            tell(f"The token of this service, shown only here: {service.access.token}")
        tell(f"Serving {lake.name} at {address}")
        if started is not None:
            started(address)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=CLOSING,
        lifespan="on",
    )
    server = _Server(config, service, stop, announce_start)
    with listening, log_as_json(lake.clock), _handle_signals(service.stop):
        server.run(sockets=[listening])
    if not server.started:
        raise ServiceFailed("the service didn't start", hint="its log says why.")


class _Server(uvicorn.Server):
    """uvicorn, told to stop by an event instead of by signals of its own."""

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        stop: threading.Event | None,
        begin: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._service = service
        self._stop = stop
        self._begin = begin

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled by `serve`: uvicorn would raise them again once it is done."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._begin()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether it is time to stop."""
        if self._stop is not None and self._stop.is_set():
            self._service.stop.set()
        if self._service.stop.is_set():
            self._service.events.close()  # they would be waited for
            return True
        return await super().on_tick(counter)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise InvalidServiceOption(
            f"the service can't listen on {ascii(host)[:80]}, port {port}",
            detail=f"{error.strerror or error}.",
        ) from error
    listening.setblocking(False)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _handle_signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT stop the service, where the main thread runs it; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
