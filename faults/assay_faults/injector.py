"""Faults outside the frames: who carries them out, and what an injector may know of the attempt it works in.

One injector a means and attempt. It is prepared before any client connects, so that toxics and shaped networks are in
place by then; from there on the frame link says when a fault begins and ends. Each `inject` and `heal` ends with a
receipt of what was really seen, or raises: a fault that did not happen must not look as if it had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from assay_conformance.model.event import Fact
from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import Target


class Receipt(msgspec.Struct, frozen=True):
    """What was seen of a fault as it happened, or as it was undone."""

    facts: dict[str, Fact] = {}


class Process(Protocol):
    """A process that may be harmed: a broker, a bookie, a client. `name` is for people and receipts.

    Every call returns only when it is so; HarnessError when it does not become so in time.
    """

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """None while it is down."""
        ...

    @property
    def disk(self) -> str | None:
        """Where its data lies, if that is a disk of its own."""
        ...

    async def kill(self) -> None:
        """SIGKILL."""
        ...

    async def pause(self) -> None:
        """SIGSTOP."""
        ...

    async def resume(self) -> None:
        """SIGCONT."""
        ...

    async def stop(self) -> None:
        """SIGTERM, and wait."""
        ...

    async def start(self) -> None:
        """Up again on the same data and ports, and ready; nothing when it is. Another life for one that is up, and of
        no use any more."""
        ...


@runtime_checkable
class Networked(Process, Protocol):
    """One that has a network of its own to be taken off."""

    async def disconnect(self) -> None:
        """Packets to it and from it go nowhere; its connections are not closed."""
        ...

    async def reconnect(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Situation:
    """What an injector may know. `process`: UnavailableError for a target that this broker does not have.

    `in_flight` counts the SENDs that crossed to the brokers and have no answer yet.
    """

    process: Callable[[Target], Process]
    in_flight: Callable[[], int]
    now_ns: Callable[[], int]


class Injector(Protocol):
    """One means of harm, for one attempt."""

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        """These faults, by number, may begin later. UnavailableError says what the machine lacks for them."""
        ...

    async def front(self, url: str) -> str:
        """Return the address that clients get in place of this one of a broker; the same one where nothing stands in
        front of it."""
        ...

    async def inject(self, fault: int) -> Receipt:
        """Carry it out. HarnessError when it did not happen."""
        ...

    async def heal(self, fault: int) -> Receipt:
        """Undo it, ready for use again."""
        ...

    async def close(self) -> None:
        """Nothing of this attempt is left, healed or not."""
        ...


MakeInjector = Callable[[Situation], Injector]
