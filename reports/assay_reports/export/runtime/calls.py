"""Clients, producers and consumers, and the calls that are made of them, one after the other."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulsar

SERVICE_URL = sys.argv[1] if len(sys.argv) > 1 else "pulsar://127.0.0.1:6650"
CALLS: list[Call] = []
HANDLES: list[Handle] = []


class Call:
    """One call of the client: when it was made, and when and how it ended."""

    over: float | None = None
    result: Any = None
    error, data = "", b""

    def __init__(self, handle: Handle, what: str, **details: Any) -> None:
        self.handle, self.what, self.details = handle, what, details
        self.called, self.ended = time.monotonic(), threading.Event()
        CALLS.append(self)

    def make(self, job: Callable[[], Any], ends: bool = True) -> None:
        self.called = time.monotonic()
        try:
            result = job()
            if ends:
                self.end(result)
        except Exception as error:
            self.end(error=f"{type(error).__name__}: {error}")

    def end(self, result: Any = None, error: object = "") -> None:
        self.result, self.error, self.over = result, str(error), time.monotonic()
        self.ended.set()

    def __str__(self) -> str:
        described = " ".join([self.what, *(f"{name}={value!r}" for name, value in self.details.items())])
        if self.over is None:
            return f"{described}: has not ended"
        return f"{described}: {self.error or 'ok'} after {(self.over - self.called) * 1000:.0f} ms"


class Handle:
    """A client, producer or consumer, and the thread that makes its calls in their order."""

    def __init__(self, what: str, make: Callable[[], Any], options: dict[str, Any]) -> None:
        self.options, self.thread = options, ThreadPoolExecutor(1)
        self.sends: list[Call] = []
        self.messages: list[Any] = []
        self.opening = self.call(what, make)
        HANDLES.append(self)

    @property
    def object(self) -> Any:
        self.opening.ended.wait()
        return self.opening.result

    def call(self, what: str, job: Callable[[], Any], **details: Any) -> Call:
        made = Call(self, what, **details)
        self.thread.submit(made.make, job)
        return made


def took_s(call: Call) -> float | None:
    return None if call.over is None else call.over - call.called


def is_ok(call: Call) -> bool:
    return call.over is not None and not call.error


def is_open_at(call: Call, moment: float) -> bool:
    return call.called <= moment and (call.over is None or call.over > moment)


def open_client(**options: Any) -> Handle:
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return Handle("Client", lambda: pulsar.Client(SERVICE_URL, logger=logger, **options), options)


def open_producer(client: Handle, topic: str, **options: Any) -> Handle:
    def make() -> Any:
        producer = client.object.create_producer(topic, **options)
        # As applications do that log it.
        producer.producer_name()
        return producer

    return Handle("create_producer", make, options)


def tokens(*given: str) -> Any:
    """Return the next token whenever the client asks; the last one stays."""
    left = list(given)
    return pulsar.AuthenticationToken(lambda: left.pop(0) if len(left) > 1 else left[0])


def close(handle: Handle) -> Call:
    return handle.call("close", lambda: handle.object.close())
