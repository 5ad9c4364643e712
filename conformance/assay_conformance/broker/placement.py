"""Which broker has which topic.

A topic belongs to broker 0 until it is moved. It is loaded at its broker by the first lookup that reaches this broker:
until then another broker redirects the client there, afterwards every broker names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay_conformance.model.errors import UsageError


class Directions(NamedTuple):
    """Where a lookup leads: the broker to connect to, directly or through the proxy, or (`redirect`) to ask again."""

    url: str
    redirect: bool
    proxied: bool = False


class Placement:
    """`urls[i]` is the service url of broker i. Topics are named by their full names. `proxied`: clients are led to a
    broker through the url they know."""

    def __init__(self, urls: Sequence[str], *, proxied: bool = False) -> None:
        self._urls = urls
        self._proxied = proxied
        self._migrated: set[str] = set()
        self._owners: dict[str, int] = {}
        self._loaded: set[str] = set()

    def owner(self, full: str) -> int:
        return self._owners.get(full, 0)

    def look_up(self, full: str, broker: int) -> Directions:
        """Return directions to a client that asks this broker."""
        owner = self.owner(full)
        if full in self._migrated and owner != broker:
            # Of another cluster than the owner: it has never heard of that one.
            return Directions(self._urls[broker], redirect=False)
        if self._proxied:
            self._loaded.add(full)
            return Directions(self._urls[owner], redirect=False, proxied=True)
        if full in self._loaded or owner == broker:
            self._loaded.add(full)
            return Directions(self._urls[owner], redirect=False)
        return Directions(self._urls[owner], redirect=True)

    def load(self, full: str) -> None:
        self._loaded.add(full)

    def move(self, full: str, broker: int) -> str:
        """Give a topic to another broker; its url. It is loaded there by the next lookup or use."""
        self.check(broker)
        self._owners[full] = broker
        self._loaded.discard(full)
        return self._urls[broker]

    def migrate(self, full: str, broker: int) -> str:
        """Give a topic to a broker of another cluster; its url."""
        url = self.move(full, broker)
        self._migrated.add(full)
        return url

    def migrated(self, full: str) -> str | None:
        """Return the service URL of the cluster to which a topic migrated; None for one that did not."""
        return self._urls[self.owner(full)] if full in self._migrated else None

    def forget(self, full: str) -> None:
        """Forget a deleted topic."""
        self._owners.pop(full, None)
        self._loaded.discard(full)
        self._migrated.discard(full)

    def check(self, broker: int) -> None:
        """Raise UsageError for a broker that does not exist."""
        if not 0 <= broker < len(self._urls):
            raise UsageError(f"broker {broker}: expected one of 0 to {len(self._urls) - 1}")

    def broker_at(self, url: str) -> int | None:
        """Return the broker with this service URL."""
        return next((broker for broker, known in enumerate(self._urls) if _address(known) == _address(url)), None)


def _address(url: str) -> str:
    """Return the URL without its scheme, which a proxy's client leaves out."""
    return url.rpartition("//")[2].rstrip("/")
