"""What happens to packets on their way, in one direction: netem's effects without the kernel's, which many lack.

Sans-IO: packets and the time come in, packets that are due go out. Randomness is the caller's. A packet meets, in this
order: partition, loss, damage, duplication, the rate of the line, and the time it is under way. Packets keep their
order whatever the jitter; only one that is overtaken leaves its place.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.outside import Shape
from assay_faults.measure import Measure

_MS: Final = 1_000_000
OVERTAKEN_MS: Final = 10
"""How much longer a packet that is to be overtaken is under way than the others."""
UNSHAPED: Final = Shape()


@dataclass(slots=True)
class Counts(Measure):
    """What became of the packets so far."""

    passed: int = 0
    passed_bytes: int = 0
    blocked: int = 0
    lost: int = 0
    damaged: int = 0
    doubled: int = 0
    overtaken: int = 0


class Netem:
    """One direction. `draw` gives numbers from 0 up to 1; `shape` and `partitioned` may be changed at any time."""

    def __init__(self, draw: Callable[[], float]) -> None:
        self.shape = UNSHAPED
        self.partitioned = False
        self.counts = Counts()
        self._draw = draw
        self._waiting: list[tuple[int, int, bytes]] = []
        self._number = 0
        self._line_free_ns = 0
        self._last_due_ns = 0

    def offer(self, packet: bytes, now_ns: int) -> None:
        """Take a packet that enters, and block, lose, damage or delay it as the shape says."""
        if self.partitioned:
            self.counts.blocked += 1
            return
        if self._happens(self.shape.loss):
            self.counts.lost += 1
            return
        if self._happens(self.shape.corrupt):
            self.counts.damaged += 1
            packet = self._damaged(packet)
        self._enter(packet, now_ns)
        if self._happens(self.shape.duplicate):
            self.counts.doubled += 1
            self._enter(packet, now_ns)

    def due(self, now_ns: int) -> list[bytes]:
        """Return the packets that have arrived by now, in order of arrival. A partition drops those under way."""
        packets = []
        while self._waiting and self._waiting[0][0] <= now_ns:
            packet = heapq.heappop(self._waiting)[2]
            if self.partitioned:
                self.counts.blocked += 1
                continue
            self.counts.passed += 1
            self.counts.passed_bytes += len(packet)
            packets.append(packet)
        return packets

    def next_ns(self) -> int | None:
        """Return when the next packet arrives, or None."""
        return self._waiting[0][0] if self._waiting else None

    def _enter(self, packet: bytes, now_ns: int) -> None:
        shape = self.shape
        due_ns = self._through_the_line(len(packet), now_ns) + shape.delay_ms * _MS
        if shape.jitter_ms:
            due_ns += round((2 * self._draw() - 1) * shape.jitter_ms * _MS)
        # Never before those in front of it, nor before it came.
        due_ns = max(due_ns, now_ns, self._last_due_ns)
        if self._happens(shape.reorder):
            self.counts.overtaken += 1
            due_ns += OVERTAKEN_MS * _MS
        else:
            self._last_due_ns = due_ns
        self._number += 1
        heapq.heappush(self._waiting, (due_ns, self._number, packet))

    def _through_the_line(self, size_bytes: int, now_ns: int) -> int:
        """Return when the last bit of a packet of this size has left."""
        if not self.shape.rate_kb_s:
            return now_ns
        self._line_free_ns = max(self._line_free_ns, now_ns) + size_bytes * _MS // self.shape.rate_kb_s
        return self._line_free_ns

    def _damaged(self, packet: bytes) -> bytes:
        bit = int(self._draw() * len(packet) * 8)
        byte = bit // 8
        return packet[:byte] + bytes((packet[byte] ^ 1 << bit % 8,)) + packet[byte + 1 :]

    def _happens(self, probability: float) -> bool:
        # No number is drawn for what cannot be, so that one effect does not change another's luck.
        return probability > 0 and self._draw() < probability
