"""Where a broker is, as commands that send a client there say it: in one field for plain TCP, in another for TLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from assay_conformance.wire.command_type import CommandType

TLS_SCHEME: Final = "pulsar+ssl"
_PORTS: Final = {"pulsar": 6650, TLS_SCHEME: 6651}
"""By scheme, the port where a URL names none."""

SERVICE_URL_FIELDS: Final[Mapping[int, tuple[str, str]]] = {
    CommandType.LOOKUP_RESPONSE: ("brokerServiceUrl", "brokerServiceUrlTls"),
    CommandType.TOPIC_MIGRATED: ("brokerServiceUrl", "brokerServiceUrlTls"),
    CommandType.CLOSE_PRODUCER: ("assignedBrokerServiceUrl", "assignedBrokerServiceUrlTls"),
    CommandType.CLOSE_CONSUMER: ("assignedBrokerServiceUrl", "assignedBrokerServiceUrlTls"),
}
"""The field for plain TCP, and the one for TLS."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where one broker listens."""

    scheme: str
    host: str
    port: int

    @property
    def tls(self) -> bool:
        return self.scheme == TLS_SCHEME


def address(url: str) -> Address:
    """Return the address in a service URL of one broker; a bare host:port is one without TLS.

    Raises ValueError, which says what was expected, for anything else.
    """
    try:
        parts = urlsplit(url if "://" in url else f"pulsar://{url}")
        usual = _PORTS[parts.scheme]
        port = parts.port or usual
    except (ValueError, KeyError):
        raise _no_address(url) from None
    host = (parts.hostname or "").lower()
    if not host or "," in host or parts.path.strip("/"):
        raise _no_address(url)
    return Address(parts.scheme, host, port)


def _no_address(url: str) -> ValueError:
    return ValueError(f"{url!r}: expected pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, one broker")


def speaks_tls(url: str) -> bool:
    """Return whether a connection to this URL is by TLS."""
    return url.startswith(f"{TLS_SCHEME}://")


def one_url(urls: Sequence[str]) -> str:
    """Return a service URL that names all of these brokers, as clients take it: `pulsar://a:6650,b:6650`."""
    scheme = urls[0].partition("://")[0]
    return f"{scheme}://{','.join(url.partition('://')[2] for url in urls)}"


def entrances(url: str) -> tuple[str, ...]:
    """Return the brokers that a service URL names, each with a URL of its own."""
    scheme, mark, hosts = url.partition("://")
    return tuple(f"{scheme}{mark}{host}" for host in hosts.split(",")) if mark else (url,)


def service_url(kind: CommandType, body: Any, *, tls: bool) -> str:
    """Return the URL to which the command sends a client, with or without TLS; empty for none."""
    return str(getattr(body, SERVICE_URL_FIELDS[kind][tls]))


def service_url_fields(kind: CommandType, url: str) -> dict[str, str]:
    """Return the field by which a command sends clients to this URL."""
    return {SERVICE_URL_FIELDS[kind][speaks_tls(url)]: url}


def named_brokers(command: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the URLs to which a recorded frame sends clients: one, one for each of TLS and plain, or none."""
    return tuple(str(fields[name]) for name in SERVICE_URL_FIELDS[CommandType[command]] if fields.get(name))
