"""The broker's steps and faults, what it saw, and waits."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

from assay_reports.export.runtime.calls import CALLS, HANDLES, Call, Handle, close

ADMIN_URL = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8080"


def ask(path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{ADMIN_URL}/assay/{path}", data), timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def broker(verb: str, **args: Any) -> None:
    """Take one of the broker's own steps."""
    ask("steps", {"verb": verb, "args": args})


def begin_fault(number: int, what: Any) -> None:
    """Begin a fault from now on; the broker counts those of its plan first."""
    if ask("faults", what) != number:
        raise ConnectionError("the broker has been given other faults before: start it afresh")


def end_fault(number: int) -> None:
    ask("heals", {"fault": number})


def end_every_fault() -> None:
    ask("heals", {"fault": None})


def frames(command: str, direction: str = "c2b") -> list[Any]:
    """Return the frames of a command that have crossed, to the broker (c2b) or to the client (b2c), oldest first."""
    events = [one for one in ask("events") if one["kind"] == "frame"]
    return [one for one in events if one["command"] == command and one["dir"] == direction]


def wait_for(*begun: Handle | Call, timeout_s: float = 10.0) -> None:
    """Wait until these calls have ended, and these handles are open."""
    over = time.monotonic() + timeout_s
    for one in begun:
        call = one.opening if isinstance(one, Handle) else one
        call.ended.wait(max(0.0, over - time.monotonic()))


def until(holds: Callable[[], bool], timeout_s: float) -> None:
    over = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < over:
        time.sleep(0.005)


def wait_for_frame(command: str, direction: str, count: int, timeout_s: float = 10.0) -> None:
    until(lambda: len(frames(command, direction)) >= count, timeout_s)


def wait_for_frame_with(
    fields: dict[str, Any], command: str, direction: str, count: int, timeout_s: float = 10.0
) -> None:
    def fits(one: Any) -> bool:
        return all({**one.get("fields", {}), **one}.get(name) == value for name, value in fields.items())

    until(lambda: sum(map(fits, frames(command, direction))) >= count, timeout_s)


def wait_for_fault(number: int, timeout_s: float = 10.0) -> None:
    """Wait until a fault has acted."""
    until(lambda: any(one["kind"] == "fired" and one["fault"] == number for one in ask("events")), timeout_s)


def wait_for_received(consumer: Handle, count: int, timeout_s: float = 10.0) -> None:
    until(lambda: len(consumer.messages) >= count, timeout_s)


def finish() -> None:
    """Finish: end every fault, let what was begun end, and close everything."""
    end_every_fault()
    wait_for(*CALLS)
    time.sleep(1)
    closed = [one.handle for one in CALLS if one.what == "close"]
    for handle in reversed(HANDLES):
        if handle.opening.result is not None and handle not in closed:
            wait_for(close(handle), timeout_s=3.0)
    time.sleep(1)
