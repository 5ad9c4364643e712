"""When a client requests redelivery of what was nacked, and of what.

A client may look at its nacked messages only every `nack_tick_fraction` of the delay, and may forget the low bits of
the time (`nack_precision_ms`): both are constants of its agent.toml, and where it states none the widest known apply.
"""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import in_force, number_in_force
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, OpenedConsumer
from assay_conformance.ledger.clauses import LEAST_DELAY_MS, earliest_ms

WIDEST_TICK_FRACTION = 1 / 3


class Window(NamedTuple):
    """When, after the call, a REDELIVER may and must leave; without the tolerances."""

    earliest_ns: int
    latest_ns: int


def window_of(view: View, consumer: OpenedConsumer) -> Window | None:
    """Return the window; None where the delay is not known, or every message has its own."""
    delay_ms = number_in_force(view, consumer, "nack_delay_ms")
    return None if delay_ms is None or backs_off(view, consumer) else _window(view, consumer, delay_ms)


def least_window_of(view: View, consumer: OpenedConsumer) -> Window | None:
    """Return the window of a client that raises a shorter delay to the least."""
    return None if backs_off(view, consumer) else _window(view, consumer, LEAST_DELAY_MS)


def backs_off(view: View, consumer: OpenedConsumer) -> bool:
    return bool(number_in_force(view, consumer, "nack_backoff_max_ms"))


def backoff_window_of(view: View, call: Call, redeliveries: int | None) -> Window | None:
    """Return the window of one nack, by its message's redelivery count (PIP-106).

    None where that is not known, or the consumer has no backoff.
    """
    least_ms, most_ms, factor = (
        in_force(view, call.consumer, f"nack_backoff_{key}") for key in ("min_ms", "max_ms", "multiplier")
    )
    if not most_ms or least_ms is None or factor is None or redeliveries is None:
        return None
    # Bounded, for a power of a large count is no number any more.
    grown_ms = float(least_ms) * float(factor) ** min(redeliveries, 64)
    return _window(view, call.consumer, max(round(min(grown_ms, float(most_ms))), LEAST_DELAY_MS))


def _window(view: View, consumer: OpenedConsumer, delay_ms: int) -> Window:
    precision_ms = number_in_force(view, consumer, "nack_precision_ms")
    fraction = in_force(view, consumer, "nack_tick_fraction")
    tick_ms = max(delay_ms, LEAST_DELAY_MS) * float(WIDEST_TICK_FRACTION if fraction is None else fraction)
    latest_ns = max(delay_ms, LEAST_DELAY_MS) * MS + round(tick_ms * MS)
    return Window(earliest_ms(delay_ms, precision_ms) * MS, latest_ns)
