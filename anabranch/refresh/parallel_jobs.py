"""Runs jobs in the order of their dependencies, in parallel where possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")


class Failed(Exception):
    """One job failed; none was begun after that."""

    def __init__(self, key: Hashable, error: Exception) -> None:
        super().__init__(str(key))
        self.key = key
        self.error = error


def run_in_order(
    keys: Sequence[Key], needs: Mapping[Key, frozenset[Key]], work: Callable[[Key], Made], workers: int
) -> dict[Key, Made]:
    """Run the work for each key; `needs` of a key are among the keys before it.

    After a failure, running jobs are waited for and no others begun. `Failed` names the key: of several the
    first in their order.
    """
    if workers == 1 or len(keys) == 1:
        return _run_one_by_one(keys, work)
    done: dict[Key, Made] = {}
    failed: dict[Key, Exception] = {}
    running: dict[Future[Made], Key] = {}
    waiting = list(keys)
    with ThreadPoolExecutor(max_workers=min(workers, len(keys)), thread_name_prefix="anabranch") as pool:
        while waiting or running:
            if not failed:
                for key in [key for key in waiting if needs[key] <= done.keys()][: workers - len(running)]:
                    waiting.remove(key)
                    running[pool.submit(work, key)] = key
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                key = running.pop(future)
                error = future.exception()
                if error is None:
                    done[key] = future.result()
                elif isinstance(error, Exception):
                    failed[key] = error
                else:
                    raise error
    if failed:
        first = next(key for key in keys if key in failed)
        raise Failed(first, failed[first]) from failed[first]
    return done


def _run_one_by_one(keys: Sequence[Key], work: Callable[[Key], Made]) -> dict[Key, Made]:
    done: dict[Key, Made] = {}
    for key in keys:
        try:
            done[key] = work(key)
        except Exception as error:
            raise Failed(key, error) from error
    return done
