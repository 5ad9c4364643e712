"""A cluster that somebody else runs: real Pulsar behind TLS, with tokens, and with topics of others in it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.jvm.ports import free_ports
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.brokers.pulsar.access import Access
from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest

SECRET = b"a secret of thirty-two bytes or so, for tests"
ADMIN = "admin"


def token(role: str, *, expires_s: int | None = None) -> str:
    """A JSON Web Token of this role, signed by the cluster's key."""
    claims = {"sub": role} | ({} if expires_s is None else {"exp": expires_s})
    head = f"{_part({'alg': 'HS256'})}.{_part(claims)}"
    return f"{head}.{_text(hmac.new(SECRET, head.encode(), hashlib.sha256).digest())}"


def _part(value: object) -> str:
    return _text(json.dumps(value).encode())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _as_java_reads_it(key_pem: bytes) -> bytes:
    key = serialization.load_pem_private_key(key_pem, None)
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*form)


@dataclass(frozen=True)
class Somewhere:
    """Where it is, and files to reach it with."""

    service_url: str
    admin_url: str
    ca: Path
    token_file: Path
    other_ca: Path
    our_certificate: Path
    """Of a client, with its key; `other_certificate` is of one that it does not know."""
    other_certificate: Path
    log: Path
    mutual: bool = False

    @property
    def access(self) -> Access:
        certificate = self.our_certificate if self.mutual else None
        return Access(token_file=self.token_file, tls_ca=self.ca, tls_cert=certificate)


class SecureNode(Standalone):
    """One that answers nobody without a token."""

    async def _ready(self) -> bool:
        # Its plain ports, which ask nobody for a certificate.
        admin = Admin(Rest([self.admin_url], Access(token=token(ADMIN))))
        try:
            return "public/default" in await admin.namespaces("public")
        except Exception:
            return False
        finally:
            await admin.close()


@contextmanager
def running(pulsar: Pulsar, folder: Path, *, mutual: bool = False) -> Iterator[Somewhere]:
    """A node with TLS and tokens, and the files of those who may use it."""
    authority, other = trustme.CA(), trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    other.cert_pem.write_to_path(str(folder / "other-ca.pem"))
    issued.cert_chain_pems[0].write_to_path(str(folder / "server.pem"))
    (folder / "server.key").write_bytes(_as_java_reads_it(issued.private_key_pem.bytes()))
    for name, signer in (("our", authority), ("other", other)):
        signer.issue_cert("client").private_key_and_cert_chain_pem.write_to_path(
            str(folder / f"{name}-certificate.pem")
        )
    (folder / "token").write_text(token(ADMIN))
    service_port, web_port = free_ports(2)
    extra = {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "authenticationProviders": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
        "authenticationRefreshCheckSeconds": "1",
        "superUserRoles": ADMIN,
        "tokenSecretKey": f"data:;base64,{base64.b64encode(SECRET).decode()}",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{token(ADMIN)}",
        "brokerServicePortTls": str(service_port),
        "webServicePortTls": str(web_port),
        "tlsCertificateFilePath": str(folder / "server.pem"),
        "tlsKeyFilePath": str(folder / "server.key"),
        "tlsTrustCertsFilePath": str(folder / "ca.pem"),
        "tlsRequireTrustedClientCertOnConnect": str(mutual).lower(),
    }
    with CleanupJournal.begin(folder / "ledger") as ledger, asyncio.Runner() as runner:
        node = SecureNode(pulsar, data=folder / "data", logs=folder, ledger=ledger, extra=extra)
        runner.run(node.start())
        try:
            yield Somewhere(
                service_url=f"pulsar+ssl://127.0.0.1:{service_port}",
                admin_url=f"https://127.0.0.1:{web_port}",
                ca=folder / "ca.pem",
                token_file=folder / "token",
                other_ca=folder / "other-ca.pem",
                our_certificate=folder / "our-certificate.pem",
                other_certificate=folder / "other-certificate.pem",
                log=node.log,
                mutual=mutual,
            )
        finally:
            runner.run(node.kill())


@pytest.fixture(scope="session")
def somewhere(pulsar: Pulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Somewhere]:
    with running(pulsar, tmp_path_factory.mktemp("somewhere")) as found:
        yield found


@pytest.fixture(scope="session")
def mutual(pulsar: Pulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Somewhere]:
    """It asks for a certificate as well."""
    with running(pulsar, tmp_path_factory.mktemp("mutual"), mutual=True) as found:
        yield found
