"""TLS on both sides of the proxy: clients trust the run's authority, the proxy whom the user trusts."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
import uvloop

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.verdict import Verdict
from assay_faults.network import SocketNetwork
from assay_faults.network.protocols import Factory, Listener
from assay_faults.proxy import FrameProxy
from assay_faults.proxy.tls import end_sessions
from assay_fixtures.brokers.pulsar.access import Access
from assay_fixtures.brokers.pulsar.peer import Peer
from assay_fixtures.certification import certify, prepare
from assay_fixtures.runner.folder import RunFolder

CASES = (
    "connection/one-redirect",
    "resend/pending-sends",
    "topics/repeated-moves",
    "topics/assigned-broker",
)
WHOLE_TRUST = trustme.CA()
OTHERS = trustme.CA()


class Encrypted(SocketNetwork):
    """Whoever listens here speaks TLS, as brokers of a cluster do; `asks`: and wants to know who comes."""

    def __init__(self, *names: str, asks: bool = False) -> None:
        super().__init__()
        self._session = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        WHOLE_TRUST.issue_cert(*names).configure_cert(self._session)
        if asks:
            self._session.verify_mode = ssl.CERT_REQUIRED
            WHOLE_TRUST.configure_trust(self._session)

    async def listen(self, factory: Factory, tls: ssl.SSLContext | None = None) -> Listener:
        del tls
        return await super().listen(factory, self._session)


def _trusting(authority: trustme.CA, known_as: str | None = None) -> ssl.SSLContext:
    """A user's trust in this authority; `known_as`: with a certificate of their own."""
    far = ssl.create_default_context()
    authority.configure_trust(far)
    if known_as is not None:
        WHOLE_TRUST.issue_cert(known_as).configure_cert(far)
    return far


@pytest.mark.parametrize("client", ["reference", "pulsar-python"])
@pytest.mark.parametrize("known_as", [None, "a-client.example"], ids=["anybody", "whom-brokers-know"])
def test_cases_pass_over_tls(proxied: Any, tmp_path: Path, client: str, known_as: str | None) -> None:
    brokers = Encrypted("127.0.0.1", asks=known_as is not None)
    site = proxied(brokers, end_sessions(tmp_path, _trusting(WHOLE_TRUST, known_as)))
    plan = prepare(client, wanted=CASES, site=site)
    result = asyncio.run(certify(plan, RunFolder.create(tmp_path / "run")))
    assert {judgement.verdict for judgement in result.judgements} == {Verdict.PASS}
    assert all(world.service_url.startswith("pulsar+ssl://") for world in site.worlds)
    assert [trouble for world in site.worlds for trouble in world.proxy.troubles] == []


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_broker_that_misses_our_certificate_is_the_benchs_trouble(
    tmp_path: Path, run: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    # An event loop's server keeps the alert to itself; a blocking one sends it, as brokers do.
    with _blocking_broker_that_asks() as url:
        run(_trouble_with(url, _trusting(WHOLE_TRUST), tmp_path, "asks who we are .*CERTIFICATE_REQUIRED"))


def test_certificate_of_ours_that_is_missing_is_said_before_any_client(tmp_path: Path) -> None:
    WHOLE_TRUST.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    async def main(url: str) -> None:
        with pytest.raises(UnavailableError, match=r"asks who we are .*expected the certificate and key"):
            await Peer.connect(url, Access(tls_ca=tmp_path / "ca.pem"))

    with _blocking_broker_that_asks() as url:
        uvloop.run(main(url))


@contextlib.contextmanager
def _blocking_broker_that_asks() -> Iterator[str]:
    session = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    WHOLE_TRUST.issue_cert("127.0.0.1").configure_cert(session)
    WHOLE_TRUST.configure_trust(session)
    session.verify_mode = ssl.CERT_REQUIRED

    def serve() -> None:
        connection, _ = listener.accept()
        with contextlib.suppress(ssl.SSLError):
            session.wrap_socket(connection, server_side=True)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        yield f"pulsar+ssl://127.0.0.1:{listener.getsockname()[1]}"
        server.join()


@pytest.mark.parametrize(
    ("brokers", "trusted", "sentence"),
    [
        (Encrypted("127.0.0.1"), OTHERS, "is not believed: unable to get local issuer certificate"),
        (Encrypted("elsewhere.example"), WHOLE_TRUST, "is not believed: IP address mismatch"),
    ],
    ids=["authority", "name"],
)
def test_broker_that_is_not_believed_is_the_benchs_trouble(
    tmp_path: Path, brokers: Encrypted, trusted: trustme.CA, sentence: str
) -> None:
    async def main() -> None:
        broker = await brokers.listen(asyncio.Protocol)
        await _trouble_with(broker.url, _trusting(trusted), tmp_path, sentence)
        broker.close()

    asyncio.run(main())


async def _trouble_with(broker: str, far: ssl.SSLContext, folder: Path, sentence: str) -> None:
    """Connect to this broker through a proxy, and see what the proxy makes of it."""
    tls = end_sessions(folder, far)
    proxy = FrameProxy((), {}, Recorder(lambda: 0, lambda _event: None), SocketNetwork(), lambda: 0, tls=tls)
    await proxy.start([broker])
    where = urlsplit(proxy.urls[0])
    trusting_us = ssl.create_default_context(cafile=str(tls.trust_certs))
    reader, writer = await asyncio.open_connection(where.hostname, where.port, ssl=trusting_us)
    with contextlib.suppress(ConnectionResetError):
        await reader.read()
    writer.close()
    proxy.close()
    (trouble,) = proxy.troubles
    assert isinstance(trouble, UnavailableError)
    assert re.search(sentence, str(trouble))


@pytest.fixture
def nobody_makes_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)


@pytest.mark.usefixtures("nobody_makes_certificates")
def test_library_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"trustme is not installed.*pip install '\.\[tls\]'"):
        end_sessions(tmp_path, ssl.create_default_context())


def test_key_of_the_authority_is_written_nowhere(tmp_path: Path) -> None:
    end_sessions(tmp_path, ssl.create_default_context())
    assert [path.name for path in tmp_path.iterdir()] == ["trust-certs.pem"]
    assert b"PRIVATE" not in (tmp_path / "trust-certs.pem").read_bytes()
