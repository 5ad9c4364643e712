"""TLS through the proxy: it ends the client's session under an authority of the run, and opens its own to the broker.

The authority's key lives in this process and dies with it; clients are given its certificate, and nothing else should
trust it. Which authorities the proxy trusts, and which certificate it presents to brokers, is configured by the user.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assay_conformance.model.errors import AssayError, PeerError, UnavailableError
from assay_conformance.model.extras import install

_NAMES: Final = ("localhost", "127.0.0.1", "::1")
_ASKED: Final = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN", "UNKNOWN_CA")
"""Alerts of a peer that got no certificate, or one it does not believe. Java says BAD and UNKNOWN where others say
REQUIRED."""


@dataclass(frozen=True, slots=True)
class Tls:
    """`near` is how clients are met, `far` how brokers are; clients have to trust `trust_certs`, a PEM file."""

    near: ssl.SSLContext
    far: ssl.SSLContext
    trust_certs: Path


def certificates() -> Any:
    """Return the library that makes certificates. Raise UnavailableError where it is missing."""
    try:
        import trustme
    except ImportError as error:
        raise UnavailableError(
            "the library trustme is not installed, and clients that speak TLS need a certificate: "
            f"expected {install('tls')}"
        ) from error
    return trustme


def end_sessions(folder: Path, far: ssl.SSLContext, names: tuple[str, ...] = ()) -> Tls:
    """Make an authority of this run, with its certificate in `folder`.

    It vouches for this machine's loopback and for `names`. Raise UnavailableError without the library that makes
    certificates.
    """
    trustme = certificates()
    authority = trustme.CA(organization_name="assay run")
    trust_certs = folder / "trust-certs.pem"
    authority.cert_pem.write_to_path(str(trust_certs))
    near = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*_NAMES, *names).configure_cert(near)
    return Tls(near, far, trust_certs)


def trouble(broker: str, error: ssl.SSLError) -> AssayError:
    """Return the error to report for a TLS session with a broker that failed or broke off."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return UnavailableError(
            f"the certificate of {broker} is not believed: {error.verify_message}; "
            "expected the authority that signed it, and the name it was signed for"
        )
    if any(alert in (error.reason or "") for alert in _ASKED):
        return UnavailableError(
            f"{broker} asks who we are and does not believe it ({error.reason}): "
            "expected the certificate and key of a client that it knows (--tls-cert, --tls-key)"
        )
    return PeerError(f"TLS with {broker} failed: {error.reason or error}")
