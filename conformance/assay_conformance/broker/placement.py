"""Which broker has which topic.

A topic belongs to broker 0 until it is moved. It is loaded at its broker by the first look-up that reaches this broker:
until then another broker redirects the client there, afterwards every broker names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay_conformance.model.errors import UsageError


class Directions(NamedTuple):
    """Where a look-up leads: the broker to connect to, or (`redirect`) to ask again."""

    url: str
    redirect: bool


class Placement:
    """`urls[i]` is the service url of broker i. Topics are named by their full names."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._owners: dict[str, int] = {}
        self._loaded: set[str] = set()

    def owner(self, full: str) -> int:
        return self._owners.get(full, 0)

    def look_up(self, full: str, broker: int) -> Directions:
        """Directions to a client that asks this broker."""
        owner = self.owner(full)
        if full in self._loaded or owner == broker:
            self._loaded.add(full)
            return Directions(self._urls[owner], redirect=False)
        return Directions(self._urls[owner], redirect=True)

    def load(self, full: str) -> None:
        self._loaded.add(full)

    def move(self, full: str, broker: int) -> str:
        """Give a topic to another broker; its url. It is loaded there by the next look-up or use."""
        self.check(broker)
        self._owners[full] = broker
        self._loaded.discard(full)
        return self._urls[broker]

    def forget(self, full: str) -> None:
        """The topic is gone."""
        self._owners.pop(full, None)
        self._loaded.discard(full)

    def check(self, broker: int) -> None:
        """Raises UsageError for a broker that is not there."""
        if not 0 <= broker < len(self._urls):
            raise UsageError(f"broker {broker}: expected one of 0 to {len(self._urls) - 1}")

    def broker_at(self, url: str) -> int | None:
        """The broker with this service url."""
        return next((broker for broker, known in enumerate(self._urls) if _address(known) == _address(url)), None)


def _address(url: str) -> str:
    """Without the scheme, which a proxy's client leaves out."""
    return url.rpartition("//")[2].rstrip("/")
