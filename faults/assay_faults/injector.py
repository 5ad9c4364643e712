"""Faults outside the frames: who carries them out, and what an injector may know of the attempt it works in.

There is one injector for each means and attempt. It is prepared before any client connects, so that toxics and shaped
networks are in place by then; from there on the frame link says when a fault begins and ends. Each `inject` and `heal`
ends with a receipt of what was really seen, or raises: a fault that did not happen must not look as if it had.
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
    """A process that faults may act on: a broker, a bookie, a client. `name` is for people and receipts.

    Every call returns only when its effect is there, or raises HarnessError when it is not there in time.
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
        """Send SIGKILL."""
        ...

    async def pause(self) -> None:
        """Send SIGSTOP."""
        ...

    async def resume(self) -> None:
        """Send SIGCONT."""
        ...

    async def stop(self) -> None:
        """Send SIGTERM and wait for the end."""
        ...

    async def start(self) -> None:
        """Start the process on the same data and ports, and wait until it is ready.

        A process that is ready is left alone; one that runs but is of no use any more is replaced.
        """
        ...


@runtime_checkable
class Networked(Process, Protocol):
    """A process that can be taken off its network."""

    async def disconnect(self) -> None:
        """Drop the packets to and from the process; its connections are not closed."""
        ...

    async def reconnect(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Situation:
    """What an injector may know. `process` raises UnavailableError for a target that this broker does not have.

    `in_flight` counts the SENDs that crossed to the brokers and have no answer yet.
    """

    process: Callable[[Target], Process]
    in_flight: Callable[[], int]
    now_ns: Callable[[], int]


class Injector(Protocol):
    """Carries out the faults of one means, for one attempt."""

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        """Get ready for these faults, given by number, which may begin later.

        Raise UnavailableError with what the machine lacks for them.
        """
        ...

    async def front(self, url: str) -> str:
        """Return the address that clients get in place of a broker's: the same one where nothing stands in front of
        it."""
        ...

    async def inject(self, fault: int) -> Receipt:
        """Carry out the fault. Raise HarnessError when it did not happen."""
        ...

    async def heal(self, fault: int) -> Receipt:
        """Undo the fault, which may begin again later."""
        ...

    async def close(self) -> None:
        """Remove all that is left of this attempt, healed or not."""
        ...


MakeInjector = Callable[[Situation], Injector]
