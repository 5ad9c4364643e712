"""The toxiproxy server of a run: one that runs already, or one of ours, started when it is first needed."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from assay_conformance.model.errors import HarnessError, UnavailableError
from assay_faults.awake import timeout_awake
from assay_faults.bounds import TOXIPROXY_READY_S
from assay_faults.cleanup_journal import CleanupJournal, Kind, environment_of
from assay_faults.processes.keeper import Order, Program, start
from assay_faults.toxiproxy.api import Api

_READY_POLL_S: Final = 0.01
_TRIES: Final = 5

FindServer = Callable[[], Awaitable[Api]]
"""Returns the server, or raises UnavailableError when there is none."""


class RunningServer:
    """The server at a given URL. It outlives this run, so that what the run makes in it is noted in the journal."""

    def __init__(self, url: str) -> None:
        self._api = Api(url)

    async def __call__(self) -> Api:
        try:
            await asyncio.to_thread(self._api.version)
        except HarnessError as error:
            raise UnavailableError(f"{error}; start a server there, or name none and have one started") from error
        return self._api


class OwnServer:
    """A server of this run alone, which ends with the run's journal.

    `command` returns the command line without the address, or raises UnavailableError when there is no toxiproxy. What
    the server prints goes to `log`.
    """

    def __init__(self, command: Callable[[], Sequence[str]], ledger: CleanupJournal, log: Path) -> None:
        self._command = command
        self._ledger = ledger
        self._log = log
        self._lock = asyncio.Lock()
        self._api: Api | None = None

    async def __call__(self) -> Api:
        async with self._lock:
            if self._api is None:
                self._api = await self._start()
            return self._api

    async def _start(self) -> Api:
        command = self._command()
        for _ in range(_TRIES):
            # toxiproxy does not report which port the kernel gave it. A port that is free now may be taken before
            # toxiproxy listens: it ends then, and another port is tried.
            port = _free_port()
            api = Api(f"http://127.0.0.1:{port}")
            process = self._spawn((*command, "-host", "127.0.0.1", "-port", str(port)))
            if await _ready(process, api):
                return api
        raise HarnessError(f"{command[-1]}: ended {_TRIES} times as soon as it was started; see {self._log}")

    def _spawn(self, command: Sequence[str]) -> Program:
        entry = self._ledger.creating(Kind.PROCESS, "toxiproxy")
        order = Order(command, {**os.environ, **environment_of(entry)})
        with self._log.open("ab") as log:
            return start(order, None, log.fileno(), log.fileno())


async def _ready(process: Program, api: Api) -> bool:
    """Return True once the server answers, False when its process ended.

    What answers while the process lives is this server: it could not have started on a port in use.
    """
    try:
        async with timeout_awake(TOXIPROXY_READY_S):
            return await _answers(process, api)
    except TimeoutError:
        raise HarnessError(f"{api.url}: toxiproxy does not answer within {TOXIPROXY_READY_S:g} s") from None


async def _answers(process: Program, api: Api) -> bool:
    while process.poll() is None:
        try:
            await asyncio.to_thread(api.version)
        except HarnessError:
            await asyncio.sleep(_READY_POLL_S)
        else:
            return process.poll() is None
    return False


def _free_port() -> int:
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        port: int = probing.getsockname()[1]
        return port
