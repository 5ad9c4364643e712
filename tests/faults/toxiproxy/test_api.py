"""The adapter over toxiproxy-python: what no server should answer, and what cannot be asked of one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay_conformance.model.errors import HarnessError, PeerError, UnavailableError, UsageError
from assay_conformance.model.fault import AtTime, Fault, Scope
from assay_conformance.model.outside import Disable, Latency
from assay_faults.bounds import MOST_ANSWER_BYTES
from assay_faults.cleanup_journal import CleanupJournal
from assay_faults.toxiproxy.api import Api
from assay_faults.toxiproxy.injector import ToxiproxyInjector
from assay_faults.toxiproxy.server import OwnServer, RunningServer


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[CleanupJournal]:
    with CleanupJournal.begin(tmp_path / "ledger") as ledger:
        yield ledger


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


@pytest.mark.parametrize("status", [302, 403, 500, 503])
def test_answer_that_is_no_success_is_none(status: int) -> None:
    with answering(status, b'{"error":"no"}') as api, pytest.raises(HarnessError, match=f"answers {status}"):
        api.destroy("p")


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"name":"p"}'])
def test_answer_that_cannot_be_understood_is_none(body: bytes) -> None:
    with answering(200, body) as api, pytest.raises(HarnessError, match="unexpected answer"):
        api.create("p", "127.0.0.1:9")


@pytest.mark.parametrize("status", [200, 404, 500])
def test_answer_without_end_is_read_up_to_its_bound(status: int) -> None:
    body = bytes(MOST_ANSWER_BYTES + 1)
    with answering(status, body) as api, pytest.raises(PeerError, match=f"more than {MOST_ANSWER_BYTES} bytes came"):
        api.version()


@pytest.mark.parametrize("body", [b'"\xff"', b"[" * 100_000, b'{"version": ' + b"9" * 5_000 + b"}"])
def test_bytes_that_are_no_sound_json_are_the_servers_and_not_ours(body: bytes) -> None:
    with answering(200, body) as api, pytest.raises(PeerError, match="unexpected answer") as refused:
        api.version()
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("url", ["http://[bad", "http://h:x", "http://127.0.0.1:99999"])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="expected http://HOST:PORT"):
        Api(url)


def test_proxy_that_stays_as_it_was_is_noticed() -> None:
    still = b'{"name":"p","listen":"127.0.0.1:1","upstream":"127.0.0.1:9","enabled":true}'
    with answering(200, still) as api, pytest.raises(HarnessError, match="did not follow"):
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
    told = r"^toxiproxy at http://127\.0\.0\.1:9: get /version: no answer: Connection refused; start a server there"
    with pytest.raises(UnavailableError, match=told):
        asyncio.run(RunningServer("http://127.0.0.1:9")())


def test_something_else_at_its_address_is_told_without_its_page() -> None:
    page, theirs = b"<html>Not found</html>", "in a form that is not toxiproxy's"
    with (
        answering(404, page) as api,
        pytest.raises(UnavailableError, match=theirs) as told,
    ):
        asyncio.run(RunningServer(api.url)())
    assert "html" not in str(told.value)


def test_program_that_ends_at_once_is_the_benchs_trouble(ledger: CleanupJournal, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"false: ended 5 times .* see .*/log"):
        asyncio.run(OwnServer(lambda: ["/bin/false"], ledger, tmp_path / "log")())


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (Fault(trigger=AtTime(0), action=Disable(), scope=Scope(topic="t")), "expected a scope of a broker alone"),
        (Fault(trigger=AtTime(0), action=Latency(latency_ms=1, toxicity=0.0)), "expected toxicity > 0"),
    ],
)
def test_what_a_toxic_cannot_be_is_refused(ledger: CleanupJournal, harm: Fault, told: str) -> None:
    async def nobody() -> Api:
        raise AssertionError("asked for a server")

    with pytest.raises(UsageError, match=told):
        asyncio.run(ToxiproxyInjector(nobody, ledger).prepare({0: harm}))
