"""TLS on both sides of the proxy: clients trust the run's authority, the proxy whom the user trusts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.verdict import Verdict
from assay_faults.network import SocketNetwork
from assay_faults.network.protocols import Factory, Listener
from assay_faults.proxy import FrameProxy
from assay_faults.proxy.tls import end_sessions, prove
from assay_fixtures.certification import certify, prepare
from assay_fixtures.runner.folder import RunFolder

CASES = (
    "connection/one-redirect",
    "resend/unreceipted-sends",
    "topics/move-after-move",
    "topics/told-where-it-went",
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


@pytest.mark.parametrize(
    ("brokers", "far", "sentence"),
    [
        (Encrypted("127.0.0.1"), _trusting(OTHERS), "is not believed: unable to get local issuer certificate"),
        (Encrypted("elsewhere.example"), _trusting(WHOLE_TRUST), "is not believed: IP address mismatch"),
        (Encrypted("127.0.0.1", asks=True), _trusting(WHOLE_TRUST), "asks who we are and does not believe it"),
    ],
    ids=["authority", "name", "client"],
)
def test_broker_that_does_not_fit_is_one_sentence_before_any_client(
    brokers: Encrypted, far: ssl.SSLContext, sentence: str
) -> None:
    async def main() -> None:
        listener = await brokers.listen(asyncio.Protocol)
        where = urlsplit(listener.url)
        with pytest.raises(UnavailableError, match=sentence):
            await prove(str(where.hostname), int(where.port or 0), far)
        listener.close()

    asyncio.run(main())


def test_broker_that_fits_is_proven() -> None:
    async def main() -> None:
        brokers = Encrypted("127.0.0.1", asks=True)
        listener = await brokers.listen(asyncio.Protocol)
        where = urlsplit(listener.url)
        await prove(str(where.hostname), int(where.port or 0), _trusting(WHOLE_TRUST, "a-client.example"))
        listener.close()

    asyncio.run(main())


def test_broker_that_says_what_it_misses_is_quoted() -> None:
    session = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    WHOLE_TRUST.issue_cert("127.0.0.1").configure_cert(session)
    WHOLE_TRUST.configure_trust(session)
    session.verify_mode = ssl.CERT_REQUIRED

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with contextlib.suppress(ssl.SSLError):
            session.wrap_socket(connection, server_side=True)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        # The bench's own event loop keeps the alert to itself; a blocking server sends it.
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        with pytest.raises(UnavailableError, match=r"does not believe it \(TLS.*CERTIFICATE_REQUIRED\)"):
            asyncio.run(prove("127.0.0.1", listener.getsockname()[1], _trusting(WHOLE_TRUST)))
        server.join()


def test_broker_that_fits_no_more_is_the_benchs_trouble(tmp_path: Path) -> None:
    async def main() -> None:
        broker = await Encrypted("127.0.0.1").listen(asyncio.Protocol)
        tls = end_sessions(tmp_path, _trusting(OTHERS))
        recorder = Recorder(lambda: 0, lambda _event: None)
        proxy = FrameProxy((), {}, recorder, SocketNetwork(), lambda: 0, tls=tls)
        await proxy.start([broker.url])
        client = ssl.create_default_context(cafile=str(tls.trust_certs))
        where = urlsplit(proxy.urls[0])
        reader, writer = await asyncio.open_connection(where.hostname, where.port, ssl=client)
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()
        assert [type(trouble) for trouble in proxy.troubles] == [UnavailableError]
        proxy.close()
        broker.close()

    asyncio.run(main())


@pytest.fixture
def nobody_makes_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)


@pytest.mark.usefixtures("nobody_makes_certificates")
def test_library_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"trustme is not installed.*pip install 'mq-assay\[tls\]'"):
        end_sessions(tmp_path, ssl.create_default_context())


def test_key_of_the_authority_is_written_nowhere(tmp_path: Path) -> None:
    end_sessions(tmp_path, ssl.create_default_context())
    assert [path.name for path in tmp_path.iterdir()] == ["trust-certs.pem"]
    assert b"PRIVATE" not in (tmp_path / "trust-certs.pem").read_bytes()
