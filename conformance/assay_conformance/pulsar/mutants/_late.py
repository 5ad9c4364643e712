"""How far the overrides of a time bound miss it."""

from __future__ import annotations

from typing import Protocol

from assay_conformance.client.shared import MS, Shared


class _Late(Protocol):
    lateness_ms: int


def late_ns(shared: Shared, override: type[_Late]) -> int:
    """Return by how much `override` misses its bound.

    It is its own `lateness_ms`, unless all overrides are given another one.
    """
    given_ms = shared.overrides.lateness_ms
    return (override.lateness_ms if given_ms is None else given_ms) * MS
