"""The one place that speaks to a toxiproxy server, through toxiproxy-python.

That library's HTTP layer is used, and not the objects it builds on top, since these have traps that cannot be walked
around from outside:

* Host and port are attributes of the class `APIConsumer`, so that a process has one server. Here each `Api` has a
  subclass of its own.
* It sets no deadline, and sends requests to 127.0.0.1 through the proxy that HTTP_PROXY names. Both are said with every
  request here.
* An answer that is neither 400, 404 nor 409 counts as success, a 500 too. Here only 2xx does.
* `add_toxic` returns nothing, and the server takes attributes it does not know for nothing at all. Here what the server
  says that it took is compared with the request.
* The default name of a toxic is its type and stream, so that a second one of a type is refused as a proxy that exists.
  Here every toxic is named by its caller.
* A toxic cannot be changed. Here it can (`update`).
* `reset` enables proxies that are meant to be down, `populate` tears down proxies that stand, `destroy` of a name does
  nothing. None of them is used.

Every call blocks; call from a thread of its own.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from assay_conformance.model.doors import MOST_SHOWN, MalformedError, decode_json, shortened
from assay_conformance.model.errors import PeerError, UnavailableError, UsageError, cause_of
from assay_conformance.model.extras import install
from assay_faults.bounds import MOST_ANSWER_BYTES, TOXIPROXY_ANSWER_S
from assay_faults.toxiproxy.toxics import Toxic

T = TypeVar("T")

_OWN_HOST: Final = "127.0.0.1"
_LOCAL: Final = frozenset({_OWN_HOST, "localhost", "::1"})


class Proxy(msgspec.Struct, frozen=True):
    """A proxy as the server describes it. `listen` is its address, with the port that the kernel chose."""

    name: str
    listen: str
    upstream: str
    enabled: bool


class _Refusal(msgspec.Struct, frozen=True):
    error: str


class _Version(msgspec.Struct, frozen=True):
    version: str


class Api:
    """The server at `url`. Every call raises PeerError when the server does not answer or do what was requested.

    Raises UsageError for a URL that is not of this machine, UnavailableError when the library is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise UsageError(f"toxiproxy server {url!r}: expected http://HOST:PORT") from None
        if parts.scheme != "http" or port is None or parts.path.strip("/"):
            raise UsageError(f"toxiproxy server {url!r}: expected http://HOST:PORT")
        if parts.hostname not in _LOCAL:
            raise UsageError(
                f"toxiproxy server {url!r}: expected one on this machine, since client, server and brokers meet on "
                f"{_OWN_HOST}"
            )
        self.url = f"http://{parts.netloc}"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._consumer = type("Consumer", (_library().APIConsumer,), {"host": host, "port": port})

    def version(self) -> str:
        """Return the version that the server states."""
        return self._answer(_Version, "get", "/version").version

    def create(self, name: str, upstream: str) -> Proxy:
        """Create a proxy on a port of the kernel's choice."""
        request = {"name": name, "upstream": upstream, "listen": f"{_OWN_HOST}:0", "enabled": True}
        return self._answer(Proxy, "post", "/proxies", request)

    def destroy(self, name: str) -> None:
        """Delete the proxy and end its connections."""
        self._ask("delete", f"/proxies/{name}")

    def enable(self, name: str, enabled: bool) -> None:
        """Enable or disable a proxy. A disabled one drops its connections and refuses new ones, and keeps its port."""
        proxy = self._answer(Proxy, "post", f"/proxies/{name}", {"enabled": enabled})
        if proxy.enabled is not enabled:
            raise PeerError(f"{self._who()}: proxy {name} was sent enabled={enabled} and did not follow")

    def add(self, proxy: str, toxic: Toxic) -> None:
        self._compare(toxic, self._answer(Toxic, "post", f"/proxies/{proxy}/toxics", asdict(toxic)))

    def update(self, proxy: str, toxic: Toxic) -> None:
        """Give a toxic that is there other attributes, or another toxicity."""
        path = f"/proxies/{proxy}/toxics/{toxic.name}"
        self._compare(toxic, self._answer(Toxic, "post", path, asdict(toxic)))

    def remove(self, proxy: str, toxic: str) -> None:
        """Remove the toxic. What it holds of open connections is passed on, or they end: that depends on its type."""
        self._ask("delete", f"/proxies/{proxy}/toxics/{toxic}")

    def toxics(self, proxy: str) -> tuple[Toxic, ...]:
        return self._answer(tuple[Toxic, ...], "get", f"/proxies/{proxy}/toxics")

    def proxies(self) -> Mapping[str, Proxy]:
        """Return the proxies by name, also those that other programs made."""
        return self._answer(dict[str, Proxy], "get", "/proxies")

    def _compare(self, request: Toxic, taken: Toxic) -> None:
        if taken != request:
            raise PeerError(f"{self._who()}: was sent {request} and took {taken}; is it toxiproxy 2.x?")

    def _answer(self, type: type[T], method: str, path: str, request: object = None) -> T:
        content = self._ask(method, path, request)
        try:
            return decode_json(content, msgspec.json.Decoder(type))
        except MalformedError as error:
            raise PeerError(f"{self._who()}: {method} {path}: unexpected answer: {error}") from error

    def _ask(self, method: str, path: str, request: object = None) -> bytes:
        import requests

        library = _library()
        # A name for which no proxy stands is not looked up in the environment again.
        how: dict[str, Any] = {"timeout": TOXIPROXY_ANSWER_S, "proxies": {"http": None, "all": None}}
        # Later readers of the response get what was read here.
        how |= {"stream": True, "hooks": {"response": _bounded}}
        if request is not None:
            how["json"] = request
        try:
            response = getattr(self._consumer, method)(path, **how)
        except (library.ProxyExists, library.NotFound, library.InvalidToxic) as refusal:
            raise PeerError(f"{self._who()}: {method} {path}: refused: {_reason(refusal.args[0])}") from refusal
        except requests.RequestException as error:
            raise PeerError(f"{self._who()}: {method} {path}: no answer: {cause_of(error)}") from error
        if response.status_code // 100 != 2:
            said = f"{response.status_code}: {_reason(response.content)}"
            raise PeerError(f"{self._who()}: {method} {path}: answers {said}")
        content: bytes = response.content
        return content

    def _who(self) -> str:
        return f"toxiproxy at {self.url}"


def _bounded(response: Any, *_: object, **__: object) -> None:
    """Read the body as it came, without unpacking, up to a bound.

    Raise requests' own exceptions, RequestException for a longer body.
    """
    import requests

    try:
        content = response.raw.read(MOST_ANSWER_BYTES + 1, decode_content=False)
    except Exception as error:
        # urllib3's own, which requests translates only where it reads itself.
        raise requests.ConnectionError(cause_of(error)) from error
    response.raw.close()
    if len(content) > MOST_ANSWER_BYTES:
        raise requests.RequestException(f"more than {MOST_ANSWER_BYTES} bytes came, and no end")
    response.raw = io.BytesIO(content)


def _reason(content: bytes) -> str:
    try:
        return shortened(decode_json(content, msgspec.json.Decoder(_Refusal)).error, MOST_SHOWN)
    except MalformedError:
        return "in a form that is not toxiproxy's"


def _library() -> Any:
    try:
        from toxiproxy import api
    except ImportError as error:
        raise UnavailableError(
            f"the library toxiproxy-python is not installed: expected {install('toxiproxy')}"
        ) from error
    return api
