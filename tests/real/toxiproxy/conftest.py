"""A toxiproxy server for the tests of a session, and an injector between it and an echoing broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from assay_conformance.model.fault import Fault
from assay_faults.cleaning import finish
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.toxiproxy.api import Api
from assay_faults.toxiproxy.injector import ToxiproxyInjector
from assay_faults.toxiproxy.server import OwnServer
from assay_fixtures.injectors import toxiproxy_command

from ..conftest import echoing


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server for all tests; `assay tools install toxiproxy` comes first."""
    folder = tmp_path_factory.mktemp("toxiproxy")
    ledger = CleanupJournal.begin(folder / "ledger")
    yield asyncio.run(OwnServer(toxiproxy_command, ledger, folder / "log")())
    finish(ledger)


Fronted = Callable[[Mapping[int, Fault]], AbstractAsyncContextManager[tuple[ToxiproxyInjector, str]]]


@pytest.fixture
def fronted(api: Api, ledger: CleanupJournal) -> Fronted:
    """For a block: an injector prepared for these faults, and the address in front of an echoing broker."""

    async def find() -> Api:
        return api

    @asynccontextmanager
    async def front(faults: Mapping[int, Fault]) -> AsyncIterator[tuple[ToxiproxyInjector, str]]:
        async with echoing() as broker:
            injector = ToxiproxyInjector(find, ledger)
            try:
                await injector.prepare(faults)
                yield injector, await injector.front(broker)
            finally:
                await injector.close()

    return front


def run(awaitable: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await awaitable

    asyncio.run(bounded())
