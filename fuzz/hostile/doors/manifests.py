"""TOML and JSON that configure: agent.toml, expectations.toml, broker.conf and the faults of `assay broker`."""

from __future__ import annotations

import signal
from random import Random

from fuzz.hostile import places, values
from fuzz.hostile.attack import INTERRUPTED, REFUSALS, Drawn, Order, Sandbox, Signalled
from fuzz.hostile.corpus import CASE, EXPECTATIONS, FAULTS, Corpus

_CASE_TIME_S = 100.0
"""Time-outs that an agent.toml may set are waited for."""
_SERVE_S = 1.0
"""How long a broker whose configuration was accepted after all serves."""


def toml(rng: Random, corpus: Corpus) -> Drawn:
    return rng.choices((_agent_toml, _expectations, _faults), (0.5, 0.35, 0.15))[0](rng, corpus)


def _agent_toml(rng: Random, corpus: Corpus) -> Drawn:
    damaged, kind = values.toml(rng, corpus.agent_toml.read_bytes())
    place = rng.random() < 0.05
    command = ("agent", "check", "agent.toml")
    if rng.random() < 0.5:
        command = ("certify", "agent.toml", "--select", CASE)  # type: ignore[assignment]
    return _laid("agent.toml", damaged, kind, Order(command, time_s=_CASE_TIME_S), rng if place else None)


def _expectations(rng: Random, _: Corpus) -> Drawn:
    damaged, kind = values.toml(rng, EXPECTATIONS)
    place = rng.random() < 0.05
    order = Order(("certify", "reference", "--select", CASE, "--expectations", "expectations.toml"))
    return _laid("expectations.toml", damaged, kind, order, rng if place else None)


def _faults(rng: Random, _: Corpus) -> Drawn:
    """Draw a faults file. Accepted faults leave a broker that serves until it is asked to end, with 0."""
    damaged, kind = values.document(rng, FAULTS)
    place = rng.random() < 0.05
    order = Order(
        ("broker", "--port", "0", "--http-port", "0", "--faults", "faults.json"),
        codes=frozenset({0, INTERRUPTED}) | REFUSALS,
        signals=(Signalled(_SERVE_S, signal.SIGTERM),),
    )
    return _laid("faults.json", damaged, kind, order, rng if place else None)


def _laid(name: str, data: bytes, kind: str, order: Order, place: Random | None) -> Drawn:
    def lay(sandbox: Sandbox) -> Order:
        path = sandbox.work / name
        path.write_bytes(data)
        if place is not None:
            places.put(place, path)
        return order

    return (f"{name}: no regular file" if place else f"{name}: {kind}"), lay
