"""Who leads: of several schedulers on one lake, the one that holds the lease.

The lease runs out unless it is renewed. Its term grows whenever it changes hands, and every commit of a
scheduler is bound to the term under which it was prepared: one that slept past its lease can't publish.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import CatalogUnavailable, CommitError
from anabranch.ledger import leases
from anabranch.ledger.records import Fence

SCHEDULER = "scheduler"


class Lease:
    """One scheduler's claim to lead."""

    def __init__(self, context: LakeContext) -> None:
        self._context = context
        self._holder = context.clock.new_id()
        self.fence: Fence | None = None

    def take(self) -> Fence | None:
        """Lead, or go on leading; None while another scheduler does."""
        now = self._context.clock.now()
        until = now + self._context.settings["scheduler_lease"]
        with self._context.catalog.database.begin_write() as connection:
            self.fence = leases.take_lease(
                connection, lease=SCHEDULER, holder=self._holder, now=now, until=until
            )
        return self.fence

    def release(self) -> None:
        """Let another scheduler lead at once; where that can't be said now, the lease runs out."""
        if self.fence is not None:
            with suppress(CatalogUnavailable), self._context.catalog.database.begin_write() as connection:
                leases.release_lease(connection, self.fence)
            self.fence = None

    @contextmanager
    def renew_in_background(self) -> Iterator[None]:
        """Renew the lease in the background, for work that may take longer than it runs."""
        done = threading.Event()
        fence = self.fence

        def renew() -> None:
            every = self._context.settings["scheduler_lease"].total_seconds() / 3
            while not done.wait(every):
                try:
                    if self.take() != fence:
                        return
                except CommitError:
                    # The database can't be reached: if that lasts, the lease runs out and others lead.
                    continue

        beat = threading.Thread(target=renew, name="anabranch-lease", daemon=True)
        beat.start()
        try:
            yield
        finally:
            done.set()
            beat.join()
