"""Servers that the suite asks: the admin interface of a cluster, and its brokers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from fuzz.hostile import peer, values
from fuzz.hostile.attack import VERDICT_CODES, Drawn, Order, Sandbox
from fuzz.hostile.corpus import CASE, Corpus

_NEVER_0: Final = VERDICT_CODES - {0}
_TIME_S: Final = 100.0
"""Looking for a cluster that does not answer takes its time; drips are given up within a minute."""
_FRAME_SHARE: Final = 0.3


def admin(rng: Random, corpus: Corpus) -> Drawn:
    """Draw `certify --broker URL --admin URL` of a cluster whose web service, or whose brokers, are hostile."""
    if rng.random() < _FRAME_SHARE:
        return _damaged_broker(rng, corpus)
    name = rng.choice(list(peer.ADMINS))
    service_url, admin_url = corpus.broker

    def lay(_: Sandbox) -> Order:
        server = peer.admin(name)
        words = ("certify", "reference", "--select", CASE, "--broker", service_url)
        return Order((*words, "--admin", f"http://{server.address}"), codes=_NEVER_0, time_s=_TIME_S, peer=server)

    del admin_url
    return f"admin: {name}", lay


_DAMAGE: Final[dict[str, Callable[[Random, bytes], bytes]]] = {
    "noise": lambda rng, frame: rng.randbytes(len(frame)),
    "the same twice": lambda _, frame: frame + frame,
    "bits flipped": lambda rng, frame: values.flip(rng, frame)[0],
    "cut short": lambda rng, frame: frame[: rng.randrange(len(frame))],
    "a size of 2 GiB": lambda _, frame: b"\x7f\xff\xff\xff" + frame[4:],
    "a size of zero": lambda _, frame: b"\0\0\0\0" + frame[4:],
    "HTTP": lambda _, __: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "nothing": lambda _, __: b"",
}


def _damaged_broker(rng: Random, corpus: Corpus) -> Drawn:
    kind, frame, seed = rng.choice(list(_DAMAGE)), rng.choice((0, 0, 1, 2, 3, 5)), rng.random()
    service_url, admin_url = corpus.broker
    host, port = service_url.removeprefix("pulsar://").split(":")

    def lay(_: Sandbox) -> Order:
        server = peer.damaging((host, int(port)), frame, lambda data: _DAMAGE[kind](Random(seed), data))
        words = ("certify", "reference", "--select", CASE, "--broker", f"pulsar://{server.address}")
        # A frame that is flipped may still be a good one.
        return Order((*words, "--admin", admin_url), codes=VERDICT_CODES, time_s=_TIME_S, peer=server)

    return f"broker: {kind} in the place of a frame", lay
