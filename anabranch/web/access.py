"""Who may ask for what: decided from a request's headers alone, without touching anything.

Names are checked first, so that a foreign page learns nothing; then where the request comes from; then
whether it carries the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import (
    ForeignHost,
    ForeignOrigin,
    InvalidServiceOption,
    TokenNeeded,
    UnsafeAddress,
)

READS = frozenset({"GET", "HEAD"})
"""Methods that change nothing. No route that takes them does."""

OPEN = frozenset({"/", "/healthz", "/favicon.ico"})
OPEN_BELOW = "/static/"
"""What needs no token even where reads do: the page's shell, which asks for the token."""

MIN_TOKEN = 16
MAX_TOKEN = 512
_TOKEN = re.compile(r"[!-~]+")
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_NAME = re.compile(r"[a-z0-9._-]+|\[?[0-9a-f:.]+\]?")


@dataclass(frozen=True)
class Access:
    """The rules of one service."""

    token: str
    allow_hosts: frozenset[str] = frozenset()
    reads_need_token: bool = False

    @classmethod
    def for_host(cls, token: str, *, host: str, allow_hosts: tuple[str, ...] = (), chosen: bool) -> Access:
        """The rules for a service at `host`; `chosen`: its owner gave the token."""
        check_token(token)
        loopback = is_loopback(host)
        if not loopback and not chosen:
            raise UnsafeAddress(
                f"the service can't listen on {host!a} without a token of yours",
                detail="others can reach that address.",
                hint="give a token (--token-file or ANABRANCH_TOKEN), or listen on 127.0.0.1.",
            )
        return cls(token, frozenset(map(check_host, allow_hosts)), reads_need_token=not loopback)

    def check_request(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Let a request through, or raise what is wrong with it."""
        host = headers.get("host", "").lower()
        self._check_host(host)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise ForeignOrigin("the request comes from a page of another site")
        if self.needs_token(method, path):
            self._check_token(headers.get("authorization"))

    def needs_token(self, method: str, path: str) -> bool:
        """Whether such a request must carry the token."""
        if method not in READS:
            return True
        return self.reads_need_token and path not in OPEN and not path.startswith(OPEN_BELOW)

    def _check_host(self, host: str) -> None:
        found = _HOST.fullmatch(host)
        name = "" if found is None else found["name"].strip("[]")
        if not (is_loopback(name) or name in self.allow_hosts):
            raise ForeignHost(
                "the service doesn't answer to the name it was called by",
                hint="call it localhost, or start it with --allow-host for its name.",
            )

    def _check_token(self, header: str | None) -> None:
        scheme, _, given = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise TokenNeeded(
                "the request needs the service's token", hint="send it: Authorization: Bearer …"
            )
        expected = self.token.encode("ascii")
        if not hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), expected):
            raise TokenNeeded(WRONG)


WRONG = "the token is not the service's"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("localhost", "127.8.0.1", "::1", "0.0.0.0", "example.org", "")]
    [True, True, True, False, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(name: str) -> str:
    """A name that the service may be called by, as it is compared."""
    if not isinstance(name, str) or not _NAME.fullmatch(folded := name.strip().lower()):
        raise InvalidServiceOption(
            f"{ascii(name)[:80]} can't be the name of a host", hint="give a name or an address, no port."
        )
    return folded.strip("[]")


def check_token(token: str) -> str:
    """A token that can't be guessed easily and fits into a header."""
    if not isinstance(token, str) or not MIN_TOKEN <= len(token) <= MAX_TOKEN or not _TOKEN.fullmatch(token):
        raise InvalidServiceOption(
            "the token can't be used",
            detail=f"it needs {MIN_TOKEN} to {MAX_TOKEN} printable ASCII characters, and no blanks.",
        )
    return token
