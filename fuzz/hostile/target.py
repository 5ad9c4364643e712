"""The environment under attack: sandboxes, commands run in forks of its server, and long-lived brokers of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fuzz.hostile.attack import Order, Outcome, Sandbox

_SERVER: Final = Path(__file__).with_name("server.py")
_SHOWN_CHARACTERS: Final = 200_000
KEPT_OF_ENVIRONMENT: Final = ("PATH", "LANG", "JAVA_HOME", "SSL_CERT_FILE", "PIP_CERT", "UV_NATIVE_TLS")


def new_sandbox(base: Path) -> Sandbox:
    sandbox = Sandbox(base)
    for folder in (sandbox.work, sandbox.neighbour, sandbox.home):
        folder.mkdir(parents=True)
    sandbox.witness.write_text("belongs to somebody else\n")
    return sandbox


def forget(sandbox: Sandbox) -> None:
    shutil.rmtree(sandbox.base, ignore_errors=True)


class Target:
    """Commands of `assay`, as the interpreter of one environment has it."""

    def __init__(self, python: str, cache: Path, environment: Mapping[str, str] | None = None) -> None:
        self.python = python
        self._environment = {name: os.environ[name] for name in KEPT_OF_ENVIRONMENT if name in os.environ}
        self._environment |= {"ASSAY_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
        self._server = subprocess.Popen(
            [python, "-u", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def run(self, order: Order, sandbox: Sandbox) -> Outcome:
        """Run one command to its end. Raise RuntimeError where the server itself has died."""
        before = dict(_state(sandbox))
        result = self._ask(order, sandbox)
        after = dict(_state(sandbox))
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        return Outcome(
            code=result["code"],  # type: ignore[arg-type]
            killed_for=str(result["killed_for"]),
            wall_s=float(str(result["wall_s"])),
            peak_kib=int(str(result["peak_kib"])),
            out=_text(sandbox.base / "out"),
            err=_text(sandbox.base / "err"),
            left=tuple(result["left"]),  # type: ignore[arg-type]
            outside=tuple(changed),
        )

    def _ask(self, order: Order, sandbox: Sandbox) -> Mapping[str, object]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(
            json.dumps(
                {
                    "arguments": order.arguments,
                    "cwd": str(sandbox.work),
                    "out": str(sandbox.base / "out"),
                    "err": str(sandbox.base / "err"),
                    "environment": {"HOME": str(sandbox.home), **dict(order.environment)},
                    "streams": order.streams,
                    "signals": [[one.after_s, int(one.number)] for one in order.signals],
                    "time_s": order.time_s,
                    "descriptors": order.descriptors,
                }
            )
            + "\n"
        )
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"the server of {self.python} has ended with {self._server.wait()}")
        answer: Mapping[str, object] = json.loads(line)
        return answer


def assay(python: str, *arguments: str) -> list[str]:
    """Return a command of that environment, to run as a separate process."""
    return [python, "-c", "from assay_fixtures.cli import main; main()", *arguments]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_SHOWN_CHARACTERS).decode("utf-8", "replace")
    except OSError:
        return ""


def _state(sandbox: Sandbox) -> Iterator[tuple[str, str]]:
    """Yield what must not change: the neighbour's files, and which entries are beside the working folder."""
    for path in sorted(sandbox.neighbour.rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        yield f"neighbour/{path.relative_to(sandbox.neighbour)}", content
    for path in sandbox.base.iterdir():
        if path.name not in ("out", "err"):
            yield path.name, "entry"
