"""Kinds of fault that hostile input has found in the suite, and the breaches by which each shows.

Each was fixed as a kind. Run against an earlier environment, the same generators find them again, which shows that they
reach what they are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from fuzz.hostile.attack import Rule, Tried

_ANY_RULE: Final = frozenset(Rule)


class Shows(NamedTuple):
    """How a kind shows: at which doors, of which attacks, by which rules, and in which words."""

    doors: frozenset[str]
    what: str = ""
    rules: frozenset[Rule] = _ANY_RULE
    detail: str = ""


def _at(*doors: str, what: str = "", rules: Iterable[Rule] = _ANY_RULE, detail: str = "") -> Shows:
    return Shows(frozenset(doors), what, frozenset(rules), detail)


_RUNS: Final = ("plan", "history", "verdicts")
_FILES: Final = (*_RUNS, "replay", "toml", "mapping", "ledger", "wheels")

KINDS: Final[dict[str, Shows]] = {
    "a grandchild holds the output": _at("agent", what="hold the output", rules=[Rule.ENDS]),
    "children outlive the run": _at("agent", what="leave", rules=[Rule.LEFT]),
    "an agent's line ends the run": _at("agent", rules=[Rule.CODE], detail="exit code 4"),
    "damaged ledgers pass": _at("ledger", what="bytes flipped", rules=[Rule.CODE]),
    "an invented message passes": _at("agent", what="a digest|a topic", rules=[Rule.CODE]),
    "streams change the exit code": _at("streams", rules=[Rule.CODE]),
    "memory of files": _at(*_FILES, rules=[Rule.MEMORY]),
    "memory of servers": _at("http", "frames", rules=[Rule.MEMORY, Rule.ALIVE]),
    "memory of peers": _at("admin", rules=[Rule.MEMORY]),
    "files that are no files": _at(*_FILES, what="no regular file", rules=[Rule.ENDS, Rule.MEMORY]),
    "terminal escapes": _at("ledger", *_FILES, "arguments", rules=[Rule.ESCAPES]),
    "links out of the folder": _at(*_RUNS, what="is a link", rules=[Rule.OUTSIDE]),
    "bad text is our error": _at(*_FILES, what="UTF-8|surrogate", rules=[Rule.CODE], detail="exit code 4"),
    "deep nesting is our error": _at(*_FILES, what="in one another|parts", rules=[Rule.CODE], detail="exit code 4"),
    "large integers are our error": _at(*_FILES, what="digits|2\\^6|10\\^", rules=[Rule.CODE], detail="exit code 4"),
    "types of logs are our error": _at("mapping", what="Parquet", rules=[Rule.CODE]),
    "odd wheels are our error": _at("wheels", rules=[Rule.CODE]),
    "hostile admin interfaces are our error": _at("admin", what="admin", rules=[Rule.CODE]),
    "hostile brokers are our error": _at("admin", what="broker", rules=[Rule.CODE, Rule.ENDS]),
    "odd arguments are our error": _at("arguments", rules=[Rule.CODE]),
    "signals": _at("signals", rules=[Rule.CODE, Rule.ENDS, Rule.TRACEBACK]),
    "values printed whole": _at(*_FILES, "agent", "arguments", rules=[Rule.SENTENCE], detail="characters"),
    "two voices": _at(*_FILES, "arguments", rules=[Rule.SENTENCE], detail="not said by assay"),
}


def found(tried: Iterable[Tried]) -> set[str]:
    """Return the kinds that showed."""
    return {
        name
        for one in tried
        for breach in one.breaches
        for name, shows in KINDS.items()
        if one.door in shows.doors
        and breach.rule in shows.rules
        and re.search(shows.what, one.what)
        and shows.detail in breach.detail
    }
