"""The doors: each draws attacks of its kind. A new door is a function here and a line in `DOORS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from fuzz.hostile.attack import Drawn
from fuzz.hostile.corpus import Corpus
from fuzz.hostile.doors import agents, arguments, ledgers, manifests, peers, runs, wheels

DOORS: Final[Mapping[str, Callable[[Random, Corpus], Drawn]]] = {
    "agent": agents.agent,
    "replay": runs.replay,
    "plan": runs.plan,
    "history": runs.history,
    "verdicts": runs.verdicts,
    "ledger": ledgers.ledger,
    "mapping": ledgers.mapping,
    "toml": manifests.toml,
    "wheels": wheels.wheels,
    "admin": peers.admin,
    "arguments": arguments.arguments,
    "streams": arguments.streams,
    "signals": arguments.signals,
}
"""Doors of commands. Those of servers, `frames` and `http`, stand in `fuzz.hostile.traffic`."""
