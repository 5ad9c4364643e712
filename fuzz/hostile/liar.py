"""The suite's own client, whose agent reports a message that was never sent: `liar.py PLAN`.

After the third `received` event it writes another one, with what the plan says changed: a digest that was never sent,
a topic that does not exist. Runs in the environment under attack.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from assay_faults.network import SocketNetwork
from assay_fixtures.clock import MonotonicClock
from assay_fixtures.reference.__main__ import StandardStreams
from assay_fixtures.reference.agent import serve

_LAST_OF_THE_CASE = 3
"""The Case asks for three messages: what comes after them disturbs none of its steps."""


class Liar(StandardStreams):
    """The agent's line channel, which adds one event."""

    def __init__(self, reader: asyncio.StreamReader, changes: dict[str, Any]) -> None:
        super().__init__(reader)
        self._changes = changes

    def write_line(self, line: bytes) -> None:
        super().write_line(line)
        event = json.loads(line)
        if event.get("event") == "received" and event["delivery"] == _LAST_OF_THE_CASE:
            lie = {**event, **self._changes, "delivery": _LAST_OF_THE_CASE + 1}
            super().write_line(json.dumps(lie).encode())


async def run(changes: dict[str, Any]) -> int:
    reader = asyncio.StreamReader(limit=2 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return await serve(Liar(reader, changes), SocketNetwork(), MonotonicClock())


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as stream:
        plan = json.loads(stream.read())
    sys.exit(asyncio.run(run(plan)))
