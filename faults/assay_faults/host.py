"""What runs the frame link of one Case: it gives the time, and lets what became due happen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from assay_conformance.model.fault import Fault
from assay_faults.alarm import Alarm
from assay_faults.link import FrameLink


class LinkHost(ABC):
    """`now_ns` is the Case's clock: nanoseconds since it began."""

    def __init__(self, link: FrameLink, now_ns: Callable[[], int]) -> None:
        self.link = link
        self.now_ns = now_ns
        self._alarm = Alarm(now_ns, self._advance)

    def step_done(self, index: int) -> None:
        self.link.step_done(index, self.now_ns())
        self.wake()

    def heal(self, fault: int | None = None) -> None:
        """End one fault, or every one."""
        if fault is None:
            self.link.heal_all(self.now_ns())
        else:
            self.link.heal(fault, self.now_ns())
        self.wake()

    def inject(self, fault: Fault) -> int:
        """One more fault; its number."""
        number = self.link.add(fault)
        self.wake()
        return number

    @abstractmethod
    def wake(self) -> None:
        """Something may be due at another time now."""

    @abstractmethod
    def _advance(self) -> None:
        """Something is due."""
