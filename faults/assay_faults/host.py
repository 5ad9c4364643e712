"""What runs the frame link of one Case: it gives the time, and lets what became due happen."""

from __future__ import annotations

import asyncio
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath

from assay_conformance.model.errors import AssayError, HarnessError
from assay_conformance.model.fault import Fault
from assay_faults.alarm import Alarm
from assay_faults.link import FrameLink


class LinkHost(ABC):
    """`now_ns` is the Case's clock: nanoseconds since it began. `troubles` are what went wrong with the bench itself
    meanwhile: whatever was seen of a client beside them proves nothing."""

    def __init__(self, link: FrameLink, now_ns: Callable[[], int]) -> None:
        self.link = link
        self.now_ns = now_ns
        self.troubles: list[AssayError] = []
        self._alarm = Alarm(now_ns, self._ring)

    def step_done(self, index: int) -> None:
        self.link.step_done(index, self.now_ns())
        self.wake()

    def heal(self, fault: int | None = None) -> None:
        """End one fault, or all faults."""
        if fault is None:
            self.link.heal_all(self.now_ns())
        else:
            self.link.heal(fault, self.now_ns())
        self.wake()

    def inject(self, fault: Fault, listener: str | None = None) -> int:
        """Add a fault and return its number. With `listener`, only connections to that listener meet the fault."""
        number = self.link.add(fault, listener)
        self.wake()
        return number

    def prove(self) -> None:
        """Raise the first trouble that occurred, if any."""
        if self.troubles:
            raise self.troubles[0]

    def broke(self, error: Exception) -> None:
        """Record an error in a callback of the event loop, which would only log it: a failure of the bench, or a bug of
        ours."""
        if isinstance(error, AssayError):
            self.troubles.append(error)
            return
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__} in {PurePath(where.filename).name}, line {where.lineno}: {error}"
        self.troubles.append(HarnessError(f"a bug of assay's own, and not the client's: {text}"))
        context = {"message": "A bug of assay's own", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Report errors raised in this block, which runs for the event loop: the loop itself would only log them."""
        try:
            yield
        except Exception as error:
            self.broke(error)

    def _ring(self) -> None:
        with self.watched():
            self._advance()

    @abstractmethod
    def wake(self) -> None:
        """Look again at when something is due next: the time may have changed."""

    @abstractmethod
    def _advance(self) -> None:
        """Do what is due."""
