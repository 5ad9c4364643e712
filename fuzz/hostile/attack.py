"""What an attack is, what came of it, and what may not come of it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

VERDICT_CODES: Final = frozenset({0, 1, 2, 3})
"""What a command may exit with whatever it reads: 4 is a bug of the suite, 130 an interrupt."""
REFUSALS: Final = frozenset({2, 3})
INTERRUPTED: Final = 130

MEMORY_KIB: Final = 1 << 20
"""No input of 100 MB or less takes the process of `assay` beyond this."""
TIME_S: Final = 40.0
"""No input that is generated here is large enough to keep a command busy for longer, on a busy machine."""


class Stream(StrEnum):
    """What the command finds in the place of a standard stream."""

    OPEN = "open"
    CLOSED = "closed"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal to the command, and how long after its start."""

    after_s: float
    number: signal.Signals


class Peer(Protocol):
    """A server that an attack brings along."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Order:
    """A command to run: `assay` with these arguments, in the folder `work` of a sandbox."""

    arguments: tuple[str, ...]
    codes: frozenset[int] = VERDICT_CODES
    time_s: float = TIME_S
    streams: tuple[Stream, Stream, Stream] = (Stream.OPEN, Stream.OPEN, Stream.OPEN)
    """Of stdin, stdout and stderr."""
    signals: tuple[Signalled, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    descriptors: int | None = None
    """The limit on open files, where it is part of the attack."""
    peer: Peer | None = None
    """The server that the command talks to; it serves as soon as the files are laid out."""
    silent: bool = False
    """Whether the command has no way to say why it refuses: its streams are closed or full."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The folders of one attack. Only `work` may change."""

    base: Path

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def neighbour(self) -> Path:
        """A folder outside of the run; links and paths of an attack lead there."""
        return self.base / "neighbour"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def witness(self) -> Path:
        """The file that must not be written over, created or removed."""
        return self.neighbour / "keep.txt"


Drawn = tuple[str, Callable[[Sandbox], Order]]
"""An attack: its kind in a few words, equal for all of a kind, and what lays its files into a sandbox and says which
command meets them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int | None
    """Exit code, negative for a signal; None where it had to be killed."""
    killed_for: str
    """`time` or `memory`, or empty."""
    wall_s: float
    peak_kib: int
    out: str
    err: str
    left: tuple[str, ...]
    """Command lines of processes that outlived it."""
    outside: tuple[str, ...] = ()
    """Paths that changed outside of its folder."""


class Rule(StrEnum):
    """What the oracle asks of every outcome."""

    ENDS = "ends in time"
    MEMORY = "memory is bounded"
    CODE = "exit code in its set"
    SENTENCE = "one sentence"
    TRACEBACK = "no traceback"
    ESCAPES = "no control characters"
    LEFT = "nothing left"
    OUTSIDE = "no change outside its folder"
    ALIVE = "the server serves on"


@dataclass(frozen=True, slots=True)
class Breach:
    rule: Rule
    detail: str


@dataclass(frozen=True, slots=True)
class Tried:
    """An attack and what the oracle says of it."""

    door: str
    number: int
    what: str
    breaches: tuple[Breach, ...]
    refused: bool = False
    """Whether the input was refused, and not accepted as if nothing were wrong."""
