"""Addresses of brokers inside frames: clients get ours, brokers get theirs, so that no client bypasses the proxy.

Every field of the protocol that holds an address is in a table, here or in wire/service_urls.py. A changed frame is
otherwise encoded as its sender did (wire/reencode.py); a frame in which no address has to be replaced is the same
object as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from assay_conformance.model.errors import PeerError
from assay_conformance.wire import BODY_FIELDS, BaseCommand, CommandType, Frame, decode, reencode, service_urls
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS, Address

TO_BROKER: Final[Mapping[int, tuple[str, ...]]] = {CommandType.CONNECT: ("proxy_to_broker_url",)}
"""Fields in which a client names the broker that it wants from a Pulsar proxy."""

_LOOPBACK: Final = {"localhost": "127.0.0.1", "::1": "127.0.0.1"}


class UnknownAddressError(PeerError):
    """A broker sends its clients to something that is no broker's address, so that no proxy can stand between them."""


def address(url: str) -> Address:
    """Return the address of a service URL; all names of this machine's loopback give the same address.

    Raise UnknownAddressError for what is no service URL.
    """
    try:
        found = service_urls.address(url)
    except ValueError as error:
        raise UnknownAddressError(f"a broker sends clients to {error}") from None
    return replace(found, host=_LOOPBACK.get(found.host, found.host))


class Addresses:
    """Which address of ours stands for which address of a broker. `tls`: whether we can stand for one that speaks
    TLS."""

    def __init__(self, *, tls: bool) -> None:
        self._tls = tls
        self._ours: dict[Address, str] = {}
        self._theirs: dict[tuple[str, int], str] = {}

    def add(self, theirs: str, ours: str) -> None:
        """Make `ours` stand for `theirs` from now on. Raise UnknownAddressError for what is no address."""
        self._ours[address(theirs)] = ours
        mine = address(ours)
        self._theirs[mine.host, mine.port] = theirs

    def stands_for(self, theirs: str) -> bool:
        """Return whether an address of ours stands for this one."""
        return address(theirs) in self._ours

    def ours(self, theirs: str) -> str:
        """Return the address of ours that stands for this one."""
        return self._ours[address(theirs)]

    def unknown(self, frame: Frame) -> list[str]:
        """Return the addresses in a frame for the client that no address of ours stands for yet.

        Raise UnknownAddressError for what is no address.
        """
        return [
            url for _, url in _named(frame, SERVICE_URL_FIELDS) if self._stands(url) and address(url) not in self._ours
        ]

    def for_client(self, frame: Frame) -> Frame:
        """Return the frame with our addresses. A TLS address is left out where we cannot stand for it, as in the
        answers of a broker without TLS."""
        return _changed(
            frame,
            {
                name: self._ours[address(url)] if self._stands(url) else None
                for name, url in _named(frame, SERVICE_URL_FIELDS)
            },
        )

    def for_broker(self, frame: Frame) -> Frame:
        """Return the frame with the broker's own address where the client asks to be proxied to an address of ours."""
        return _changed(frame, {name: self._named_by_client(url) for name, url in _named(frame, TO_BROKER)})

    def _stands(self, url: str) -> bool:
        return self._tls or not address(url).tls

    def _named_by_client(self, url: str) -> str:
        """Return the broker's own address, in the form that the client chose.

        What is no address of ours is left as it is, for the broker to refuse.
        """
        try:
            wanted = address(url)
        except UnknownAddressError:
            return url
        theirs = self._theirs.get((wanted.host, wanted.port))
        if theirs is None:
            return url
        return theirs if "://" in url else theirs.partition("://")[2]


def _named(frame: Frame, table: Mapping[int, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each field of the table that this frame sets."""
    names = table.get(frame.type)
    if names is not None:
        body = frame.body
        for name in names:
            if url := getattr(body, name):
                yield name, url


def _changed(frame: Frame, values: Mapping[str, str | None]) -> Frame:
    body = frame.body
    if all(getattr(body, name) == value for name, value in values.items()):
        return frame
    command = BaseCommand()
    command.CopyFrom(frame.command)
    changed: Any = getattr(command, BODY_FIELDS[frame.type])
    for name, value in values.items():
        if value is None:
            changed.ClearField(name)
        else:
            setattr(changed, name, value)
    return decode(reencode(frame, command))
