"""What an application's supplier of credentials does, each time a client asks it: the words of the key `credentials`.

    token:TEXT       gives this token
    wait:MS:TEXT     gives this token so much later, and keeps its caller waiting
    raise            fails
    certificate      gives credentials without bytes, of the method `tls`: who the client is, its TLS session says

Several are separated by commas: the next one each time, then the last one again.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.model.errors import UsageError

TOKEN_METHOD, TLS_METHOD = "token", "tls"


@dataclass(frozen=True, slots=True)
class Supplied:
    """One answer of the supplier: after `wait_ms` these bytes, or a failure where `data` is None."""

    method: str = TOKEN_METHOD
    data: bytes | None = None
    wait_ms: int = 0


def supplied(credentials: str) -> tuple[Supplied, ...]:
    """Return the answers in order. Raises UsageError for an unknown word."""
    return tuple(map(_answer, credentials.split(",")))


def _answer(word: str) -> Supplied:
    kind, _, rest = word.partition(":")
    wait_ms, colon, late = rest.partition(":")
    if kind == "token" and rest:
        return Supplied(data=rest.encode())
    if kind == "wait" and colon and wait_ms.isdecimal():
        return Supplied(data=late.encode(), wait_ms=int(wait_ms))
    if word == "raise":
        return Supplied()
    if word == "certificate":
        return Supplied(TLS_METHOD, b"")
    raise UsageError(f"credentials: {word!r} is none of token:TEXT, wait:MS:TEXT, raise and certificate")
