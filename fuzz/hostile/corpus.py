"""Valid input of every kind, for attacks to damage: made by the environment under attack, or kept in the checkout."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzz.hostile.attack import Order
from fuzz.hostile.target import Target, new_sandbox

CHECKOUT: Final = Path(__file__).resolve().parents[2]
GOLDEN: Final = CHECKOUT / "fixtures/golden/runs/1.1"
CASE: Final = "nack/one-of-three"
"""A Case of the golden run that takes no time."""
HISTORY: Final = f"history/{CASE}/1.jsonl"
MAPPING: Final = CHECKOUT / "docs/examples/production-logs"
AGENTS: Final = CHECKOUT / "fixtures/agents"

EXPECTATIONS: Final = b"""schema = "2.0"
agent = "reference"
tested = "*"
[[deviation]]
id = "other-bytes"
title = "A batch is sent again with other bytes"
impact = "corrupted"
versions = ">=0"
reason = "known"
expires = 2099-12-31
[[deviation.seen]]
requirement = "resend.identical-bytes"
code = "changed"
cases = ["resend/same-message"]
occurs = "sometimes"
leads_to = ["delivery.successful-send-is-stored: not-stored"]
"""

FAULTS: Final = b"""[{"trigger": {"when": "frame", "command": "SEND_RECEIPT", "direction": "b2c", "k": 2},
  "action": {"do": "delay", "ms": 20}, "scope": {"topic": "orders"}},
 {"trigger": {"when": "frame", "command": "PRODUCER", "direction": "c2b"},
  "action": {"do": "answer_error", "error": "ServiceNotReady"}}]
"""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Paths of valid input."""

    run: Path
    replays: tuple[Path, ...]
    agent_toml: Path
    mapping: Path
    ledger: Path
    broker: tuple[str, str]
    """Service URL and admin URL of a light Pulsar that behaves."""


def make(target: Target, folder: Path, broker: tuple[str, str]) -> Corpus:
    """Have the environment under attack write what only that environment can write."""
    sandbox = new_sandbox(folder / "corpus")
    shutil.copytree(MAPPING, sandbox.work / "logs")
    outcome = target.run(Order(("ledger", "map", "logs/orders.toml", "ledger")), sandbox)
    if outcome.code != 0:
        raise RuntimeError(f"no ledger could be made: {outcome.code}: {outcome.err}")
    return Corpus(
        run=GOLDEN,
        replays=tuple(sorted((AGENTS / "pulsar-python" / "replays").glob("*.json"))),
        agent_toml=AGENTS / "reference" / "agent.toml",
        mapping=MAPPING,
        ledger=sandbox.work / "ledger",
        broker=broker,
    )
