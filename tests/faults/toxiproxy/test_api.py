"""The adapter over toxiproxy-python: what a real server does, and what no server should answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay_conformance.model.errors import HarnessError, UnavailableError, UsageError
from assay_conformance.model.outside import Latency
from assay_faults.ledger import Ledger
from assay_faults.toxiproxy.api import Api, Proxy
from assay_faults.toxiproxy.server import OwnServer, RunningServer
from assay_faults.toxiproxy.toxics import toxic
from assay_fixtures.injectors import toxiproxy_command

SLOW = toxic("slow", Latency(latency_ms=5, jitter_ms=1))


@pytest.fixture
def proxy(api: Api) -> Iterator[Proxy]:
    made = api.create("of-a-test", "127.0.0.1:9")
    yield made
    api.destroy(made.name)


@contextmanager
def answering(status: int, body: bytes) -> Iterator[Api]:
    """A server that says the same to everything."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Api(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
    with pytest.raises(HarnessError, match=r"was told .*latencey"):
        api.add(proxy.name, misspelt)


def test_disabled_proxy_stays_so(api: Api, proxy: Proxy) -> None:
    api.enable(proxy.name, False)
    assert api.proxies()[proxy.name].enabled is False


def test_refusal_is_told_in_the_servers_words(api: Api, proxy: Proxy) -> None:
    with pytest.raises(HarnessError, match=r"refused: .*proxy already exists"):
        api.create(proxy.name, "127.0.0.1:9")


def test_two_servers_are_kept_apart(api: Api, proxy: Proxy, ledger: Ledger, tmp_path: Path) -> None:
    other = asyncio.run(OwnServer(toxiproxy_command, ledger, tmp_path / "log")())
    assert proxy.name not in other.proxies()
    assert proxy.name in api.proxies()


def test_proxy_of_the_environment_is_not_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert api.version()


@pytest.mark.parametrize("status", [302, 403, 500, 503])
def test_answer_that_is_no_success_is_none(status: int) -> None:
    with answering(status, b'{"error":"no"}') as api, pytest.raises(HarnessError, match=f"answers {status}"):
        api.destroy("p")


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"name":"p"}'])
def test_answer_that_cannot_be_understood_is_none(body: bytes) -> None:
    with answering(200, body) as api, pytest.raises(HarnessError, match="unexpected answer"):
        api.create("p", "127.0.0.1:9")


def test_proxy_that_stays_as_it_was_is_noticed() -> None:
    still = b'{"name":"p","listen":"127.0.0.1:1","upstream":"127.0.0.1:9","enabled":true}'
    with answering(200, still) as api, pytest.raises(HarnessError, match="did not do so"):
        api.enable("p", False)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8474", "https://127.0.0.1:8474", "http://127.0.0.1", "http://127.0.0.1:x", "http://h:1/path"]
)
def test_url_of_no_server_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="expected http://HOST:PORT"):
        Api(url)


def test_server_elsewhere_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one on this machine"):
        Api("http://toxiproxy.example:8474")


def test_server_that_was_named_and_does_not_run_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="no answer"):
        asyncio.run(RunningServer("http://127.0.0.1:9")())


def test_program_that_ends_at_once_is_the_benchs_trouble(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"false: ended 5 times .* see .*/log"):
        asyncio.run(OwnServer(lambda: ["/bin/false"], ledger, tmp_path / "log")())
