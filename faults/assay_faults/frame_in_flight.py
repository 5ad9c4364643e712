"""A frame between its sender and its receiver, while the faults that it triggered decide what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.model.event import Fate
from assay_conformance.model.fault import Direction
from assay_conformance.wire import Frame, ProtocolError, decode
from assay_faults.channel import Segmenter, Severance, Wait


@dataclass(frozen=True, slots=True)
class Injected:
    """A frame of the link's own, written before or after the one that passes."""

    direction: Direction
    before: bool
    number: int
    raw: bytes


@dataclass(slots=True, eq=False)
class FrameInFlight:
    """Each action changes it, in plan order; the link carries out what it says in the end.

    `sent` is the frame as its sender wrote it; None when a fault acts on the connection without a frame. `raw` is what
    is to leave, a frame or not: nothing when `gone` says so, `copies` times more, and not before `waits` are over.
    """

    direction: Direction | None
    number: int
    now_ns: int
    sent: Frame | None
    raw: bytes = b""
    gone: Fate | None = None
    copies: int = 0
    waits: list[Wait] = field(default_factory=list)
    injected: list[Injected] = field(default_factory=list)
    segmenters: dict[Direction, Segmenter] = field(default_factory=dict)
    severance: Severance | None = None

    @property
    def altered(self) -> bool:
        return self.sent is not None and self.raw is not self.sent.raw

    def frame(self) -> Frame | None:
        """Return what is to leave as a frame, or None when the bytes are no frame any more."""
        if self.sent is None or not self.altered:
            return self.sent
        try:
            return decode(self.raw)
        except ProtocolError:
            return None
