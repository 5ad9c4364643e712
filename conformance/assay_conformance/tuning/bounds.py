"""What a load may be: no load is beyond these numbers, or no client has such a setting."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024
INT_MOST = 2**31 - 1
LONG_MOST = 2**63 - 1
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Bound:
    least: float
    most: float
    of: str = "a whole number"

    def misfit(self, value: float) -> str:
        """Return what is wrong with this value; empty when nothing is. Neither infinity nor NaN fits."""
        if self.least <= value <= self.most:
            return ""
        return f"is {value}, expected {self.of} from {self.least:.15g} to {self.most:.15g}"


BOUNDS = {
    "partitions": Bound(1, INT_MOST),
    "message_bytes": Bound(1, INT_MOST),
    "rate_per_s": Bound(0.001, 1e9, "a number"),
    "memory_mb": Bound(1, LONG_MOST // MIB),
    "max_pending": Bound(1, INT_MOST),
    "max_pending_across": Bound(1, INT_MOST),
    "delay_ms": Bound(1, HOUR_MS),
    "round_trip_ms": Bound(0, HOUR_MS, "a number"),
}
"""By field of a load. Java counts messages, partitions and the bytes of a message in an int, memory in a long."""

SETTINGS_MOST = {
    "max_pending_messages_across_partitions": (INT_MOST, "an int in Java and C++"),
    "memory_limit_bytes": (LONG_MOST, "a long in Java"),
}
"""Of settings that formulas multiply: the most that clients take, and as what."""
