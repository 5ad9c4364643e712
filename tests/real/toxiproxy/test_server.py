"""The adapter over toxiproxy-python, with a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay_conformance.model.errors import HarnessError
from assay_conformance.model.outside import Latency
from assay_faults.cleaning import finish
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.toxiproxy.api import Api, Proxy
from assay_faults.toxiproxy.server import OwnServer
from assay_faults.toxiproxy.toxics import toxic
from assay_fixtures.injectors import toxiproxy_command

SLOW = toxic("slow", Latency(latency_ms=5, jitter_ms=1))


@pytest.fixture
def proxy(api: Api) -> Iterator[Proxy]:
    made = api.create("of-a-test", "127.0.0.1:9")
    yield made
    api.destroy(made.name)


def test_proxy_listens_on_a_port_of_its_own(proxy: Proxy) -> None:
    host, _, port = proxy.listen.partition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0


def test_toxic_lies_on_its_proxy_as_it_was_told(api: Api, proxy: Proxy) -> None:
    api.add(proxy.name, SLOW)
    assert api.toxics(proxy.name) == (SLOW,)


def test_toxic_can_be_changed_where_it_lies(api: Api, proxy: Proxy) -> None:
    api.add(proxy.name, SLOW)
    slower = replace(SLOW, attributes={"latency": 9, "jitter": 0})
    api.update(proxy.name, slower)
    assert api.toxics(proxy.name) == (slower,)


def test_attribute_that_the_server_does_not_know_is_noticed(api: Api, proxy: Proxy) -> None:
    misspelt = replace(SLOW, attributes={"latencey": 5})
    with pytest.raises(HarnessError, match=r"was sent .*latencey"):
        api.add(proxy.name, misspelt)


def test_disabled_proxy_stays_so(api: Api, proxy: Proxy) -> None:
    api.enable(proxy.name, False)
    assert api.proxies()[proxy.name].enabled is False


def test_refusal_is_told_in_the_servers_words(api: Api, proxy: Proxy) -> None:
    with pytest.raises(HarnessError, match=r"refused: .*proxy already exists"):
        api.create(proxy.name, "127.0.0.1:9")


def test_two_servers_are_kept_apart(api: Api, proxy: Proxy, ledger: CleanupJournal, tmp_path: Path) -> None:
    other = asyncio.run(OwnServer(toxiproxy_command, ledger, tmp_path / "log")())
    assert proxy.name not in other.proxies()
    assert proxy.name in api.proxies()
    finish(ledger)


def test_proxy_of_the_environment_is_not_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert api.version()
