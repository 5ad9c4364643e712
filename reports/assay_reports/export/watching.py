"""What every exported script goes on with: the broker's steps and faults, what it saw, and waits.

Copied into the script behind `calls.py` and `consuming.py`, as it stands.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

from assay_reports.export.calls import HANDLES, SAVED, close

ADMIN_URL = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8080"
QUIET_S = 1.0
CLOSING = -1
FAULTS: dict[int, int] = {}


def ask(path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{ADMIN_URL}/assay/{path}", data), timeout=10) as answer:
        told = answer.read()
    return json.loads(told) if told else None


def broker(verb: str, **args: Any) -> None:
    """One of the broker's own steps."""
    ask("steps", {"verb": verb, "args": args})


def fault(number: int, what: Any) -> None:
    """A fault from now on."""
    FAULTS[number] = ask("faults", what)


def heal(number: int | None = None) -> None:
    """End a fault, or every one."""
    ask("heals", {"fault": None if number is None else FAULTS[number]})


def frames(command: str, direction: str = "c2b") -> list[Any]:
    """The frames of a command that have crossed, oldest first."""
    return [
        event
        for event in ask("events")
        if event["kind"] == "frame" and event["command"] == command and event["dir"] == direction
    ]


# --- waits ---


def wait(*saved: int, timeout_s: float) -> None:
    """Until these calls have ended, all so far when none is named."""
    until = time.monotonic() + timeout_s
    for made in [one for number in saved or SAVED for one in SAVED.get(number, [])]:
        made.ended.wait(max(0.0, until - time.monotonic()))


def until(holds: Callable[[], bool], timeout_s: float) -> None:
    over = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < over:
        time.sleep(0.005)


def matches(event: Any, where: Any) -> bool:
    return all({**event.get("fields", {}), **event}.get(key) == value for key, value in where.items())


def wait_frame(command: str, direction: str, count: int, where: Any, timeout_s: float) -> None:
    until(lambda: sum(matches(one, where) for one in frames(command, direction)) >= count, timeout_s)


def wait_fired(number: int, timeout_s: float) -> None:
    index = FAULTS[number]
    until(lambda: any(one["kind"] == "fired" and one["fault"] == index for one in ask("events")), timeout_s)


def wait_received(consumer: int, count: int, timeout_s: float) -> None:
    until(lambda: len(HANDLES[consumer].messages) >= count, timeout_s)


def pause(ms: int) -> None:
    time.sleep(ms / 1000)


# --- the end ---


def finish(timeout_s: float = 10.0) -> None:
    """Nothing goes wrong any more: what was begun may end, and everything is closed."""
    heal()
    wait(timeout_s=timeout_s)
    time.sleep(QUIET_S)
    for handle in reversed(list(HANDLES)):
        if HANDLES[handle].object is not None and not HANDLES[handle].closing:
            close(CLOSING, handle)
            wait(CLOSING, timeout_s=3.0)
    time.sleep(QUIET_S)
