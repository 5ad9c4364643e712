"""The reference client behind an agent that misbehaves where it is told to: `python impostor.py BEHAVIOUR`.

A trap is a producer on a topic whose name ends in `-trap`; its first send springs the behaviour. Everything else is
served honestly, and lets the two meet without luck: in first attempts, sends to topics that end in `-beside` wait for
the trap to spring, and the trap waits until as many as `--beside` says are there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from assay_conformance.model.agent import MAX_LINE_BYTES
from assay_faults.network import SocketNetwork
from assay_fixtures.clock import MonotonicClock
from assay_fixtures.reference.__main__ import StandardStreams
from assay_fixtures.reference.agent import serve

Command = dict[str, Any]

_FIRST_ATTEMPT = re.compile(r"/c\d+-1-")


class Impostor(StandardStreams):
    """The agent's line channel, with a will of its own."""

    def __init__(self, reader: asyncio.StreamReader, behaviour: str, beside: int) -> None:
        super().__init__(reader)
        self._spring = BEHAVIOURS[behaviour]
        self._lies = behaviour == "lie-from-the-start"
        self._beside = beside
        self._topics: dict[int | None, str] = {}
        self._trapped: bytes | None = None
        self._sprung = False
        self._parked: list[bytes] = []
        self._due: list[bytes] = []
        self.twice: set[int] = set()
        """Operations whose answer is written twice."""
        self.silent = False

    async def read_line(self) -> bytes | None:
        while True:
            line = self._due.pop(0) if self._due else await super().read_line()
            if line is None or (line := self._considered(line)) is not None:
                return line

    def write_line(self, line: bytes) -> None:
        super().write_line(line)
        if json.loads(line).get("id") in self.twice:
            super().write_line(line)

    def _considered(self, line: bytes) -> bytes | None:
        """The line, where it is to be served honestly now."""
        command: Command = json.loads(line)
        if command["verb"] == "open_producer":
            self._topics[command["handle"]] = command["topic"]
        addressed = command["producer"] if "producer" in command else command.get("handle")
        topic = self._topics.get(addressed, "")
        if self._lies and topic.endswith("-trap"):
            answer_ok(self, command)
            return None
        if command["verb"] != "send":
            return line
        if topic.endswith("-beside") and _FIRST_ATTEMPT.search(topic) and not self._sprung:
            self._parked.append(line)
            self._spring_if_met()
            return None
        if topic.endswith("-trap") and not self._sprung:
            self._trapped = line
            if not _FIRST_ATTEMPT.search(topic):
                self._beside = 0
            self._spring_if_met()
            return None
        return line

    def _spring_if_met(self) -> None:
        if self._trapped is None or len(self._parked) < self._beside:
            return
        self._sprung = True
        self._due.extend(self._parked)
        if self._spring(self, json.loads(self._trapped)):
            self._due.append(self._trapped)


# --- behaviours: True where the send is served honestly after all -----------------------------------------------------


def answer_ok(_: Impostor, command: Command) -> bool:
    """Success for everything asked, and nothing done."""
    for index in range(len(command.get("messages", [None]))):
        say(event="ok", id=command["id"] + index)
    return False


def answer_nothing(_: Impostor, command: Command) -> bool:
    del command
    return False


def hang(_: Impostor, command: Command) -> bool:
    del command
    while True:
        time.sleep(60)


def stop_itself(_: Impostor, command: Command) -> bool:
    del command
    os.kill(os.getpid(), signal.SIGSTOP)
    return True


def garbage(_: Impostor, command: Command) -> bool:
    del command
    sys.stdout.write("DEBUG client: reconnecting in 0.1 s\n")
    sys.stdout.flush()
    return True


def die(_: Impostor, command: Command) -> bool:
    del command
    sys.stderr.write("double free or corruption\n")
    sys.stderr.flush()
    os._exit(3)


def answer_twice(impostor: Impostor, command: Command) -> bool:
    impostor.twice.add(command["id"])
    return True


def flood(_: Impostor, command: Command) -> bool:
    # A note belongs to the Case whose handle it names.
    line = json.dumps({"event": "note", "t_ns": 1, "handle": command["producer"], "text": "x" * 4000}) + "\n"
    while True:
        sys.stdout.write(line)


def flood_without_end(_: Impostor, command: Command) -> bool:
    del command
    while True:
        sys.stdout.write("x" * 65_536)


BEHAVIOURS: dict[str, Callable[[Impostor, Command], bool]] = {
    "hang-in-one-operation": answer_nothing,
    "hang-altogether": hang,
    "stop-itself": stop_itself,
    "garbage": garbage,
    "exit": die,
    "answer-twice": answer_twice,
    "flood": flood,
    "flood-of-one-line": flood_without_end,
    "lie": answer_ok,
    "lie-from-the-start": answer_ok,
    "ignore-end-of-input": lambda _impostor, _command: True,
    "ignore-every-hint": lambda _impostor, _command: True,
    "start-mute": lambda _impostor, _command: True,
}


def say(**event: Any) -> None:
    sys.stdout.write(json.dumps({"t_ns": time.monotonic_ns(), **event}) + "\n")
    sys.stdout.flush()


async def main(behaviour: str, beside: int) -> None:
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES + 1)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await serve(Impostor(reader, behaviour, beside), SocketNetwork(), MonotonicClock())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviour", choices=BEHAVIOURS)
    parser.add_argument("--beside", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.behaviour == "start-mute":
        hang(None, {})  # type: ignore[arg-type]
    if arguments.behaviour == "ignore-every-hint":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    asyncio.run(main(arguments.behaviour, arguments.beside))
    if arguments.behaviour.startswith("ignore"):
        hang(None, {})  # type: ignore[arg-type]
