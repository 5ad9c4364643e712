"""Tools that run to their end: started and ended by the keeper, waited for, and what they printed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay_faults.bounds import KILLED_TOOL_ENDS_S, MOST_PRINTED_BYTES
from assay_faults.processes.keeper import Order, start


@dataclass(frozen=True, slots=True)
class Done:
    """How a tool ended: exit status, negative for a signal, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(
    command: Sequence[str | Path],
    *,
    within_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    given: str = "",
) -> Done:
    """Run a tool to its end, with `given` as its stdin and by default this process's environment.

    Raise TimeoutError when it takes longer than `within_s`: the tool and all that it started are killed then, as when
    this call is interrupted. Raise OSError when no process can be had; status 127 says that there is no such program.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(given.encode())
        stdin.seek(0)
        order = Order(command, os.environ if environment is None else environment, folder)
        program = start(order, stdin.fileno(), stdout.fileno(), stderr.fileno())
        try:
            status = program.wait(within_s)
        except TimeoutError:
            raise TimeoutError(f"{Path(command[0]).name} had not ended after {within_s:g} s") from None
        finally:
            if program.returncode is None:
                program.end()
                program.settle(KILLED_TOOL_ENDS_S)
        return Done(status, _printed(stdout), _printed(stderr))


def _printed(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_PRINTED_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
