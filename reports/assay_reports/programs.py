"""How programs are started here: by whoever uses this package, so that they end with the process that wanted them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Done(Protocol):
    """A program that ran to its end: exit status, negative for a signal, and what it printed."""

    @property
    def returncode(self) -> int: ...

    @property
    def stdout(self) -> str: ...

    @property
    def stderr(self) -> str: ...


class Program(Protocol):
    """One that was started, in a session of its own: Ctrl-C does not reach it."""

    def poll(self) -> int | None:
        """Return the exit status; None while the program runs."""

    def wait(self, within_s: float, /) -> int:
        """Wait until nothing of the program is left, and return its exit status.

        Raises TimeoutError after `within_s` seconds.
        """

    def end(self) -> None:
        """Kill the program and all its descendants."""


class Programs(Protocol):
    """Programs that end with this process, however that ends. OSError when no process can be had; status 127 says that
    there is no such program."""

    def start(self, command: Sequence[str], environment: Mapping[str, str], stdin: int, output: int) -> Program:
        """Start a program; the descriptors are the caller's, who closes its own copies."""

    def run(self, command: Sequence[str | Path], *, within_s: float) -> Done:
        """Run a program to its end. TimeoutError; it has been killed then."""
