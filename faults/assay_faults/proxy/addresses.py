"""Addresses of brokers inside frames: clients get ours, brokers get theirs, so that no client bypasses the proxy.

Every field of the protocol that holds an address is in a table, here or in wire/service_urls.py. A field keeps its
place and the frame its sender's hand (wire/reencode.py); a frame that names no address, or none that needs another, is
the object that came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from assay_conformance.model.errors import PeerError
from assay_conformance.wire import BODY_FIELDS, BaseCommand, CommandType, Frame, decode, reencode, service_urls
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS, Address

TO_BROKER: Final[Mapping[int, tuple[str, ...]]] = {CommandType.CONNECT: ("proxy_to_broker_url",)}
"""Fields by which a client tells a Pulsar proxy which broker it wants."""

_LOOPBACK: Final = {"localhost": "127.0.0.1", "::1": "127.0.0.1"}


class UnknownAddressError(PeerError):
    """A broker sends its clients to what is no address of a broker: no proxy could stand between them."""


def address(url: str) -> Address:
    """The address of a service URL; the names of this machine's own loopback are one. Raises StrangeAddressError."""
    try:
        found = service_urls.address(url)
    except ValueError as error:
        raise UnknownAddressError(f"a broker sends clients to {error}") from None
    return replace(found, host=_LOOPBACK.get(found.host, found.host))


class Addresses:
    """Which address of ours stands for which one of a broker's. `tls`: whether we can stand for one that speaks TLS."""

    def __init__(self, *, tls: bool) -> None:
        self._tls = tls
        self._ours: dict[Address, str] = {}
        self._theirs: dict[tuple[str, int], str] = {}

    def add(self, theirs: str, ours: str) -> None:
        """From now on `ours` stands for `theirs`; StrangeAddressError for what is no address."""
        self._ours[address(theirs)] = ours
        mine = address(ours)
        self._theirs[mine.host, mine.port] = theirs

    def stands_for(self, theirs: str) -> bool:
        """Whether an address of ours stands for this one."""
        return address(theirs) in self._ours

    def ours(self, theirs: str) -> str:
        """The address of ours that stands for this one."""
        return self._ours[address(theirs)]

    def unknown(self, frame: Frame) -> list[str]:
        """The addresses in a frame for a client that we have none for yet. Raises StrangeAddressError."""
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
        """The frame with the broker's own address where a client wants to be passed on to one of ours."""
        return _changed(frame, {name: self._named_by_client(url) for name, url in _named(frame, TO_BROKER)})

    def _stands(self, url: str) -> bool:
        return self._tls or not address(url).tls

    def _named_by_client(self, url: str) -> str:
        """In the form the client chose. What is no address of ours is the broker's to refuse."""
        try:
            wanted = address(url)
        except UnknownAddressError:
            return url
        theirs = self._theirs.get((wanted.host, wanted.port))
        if theirs is None:
            return url
        return theirs if "://" in url else theirs.partition("://")[2]


def _named(frame: Frame, table: Mapping[int, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """The fields of the table that this frame has, with what they say."""
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
