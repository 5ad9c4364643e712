"""One side: an interpreter whose checkout judges, and what it said, part by part."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from bench.compare_judging.corpus import fingerprint
from bench.compare_judging.results import End, Judged, line

PROGRAM: Final = Path(__file__).parent / "one_side.py"

Chosen = Mapping[str, Collection[str]]
"""Part -> names of histories."""


@dataclass
class Side:
    """`python`: the interpreter of an environment in which the checkout is installed. What it says lies in the folder
    `kept`, by the digest of the code that judged, and is not judged again unless `fresh`. `peak_mb`: of the process
    that judged, 0 where nothing had to be."""

    python: Path
    kept: Path
    fresh: bool = False
    peak_mb: int = 0
    _files: dict[str, Path] = field(default_factory=dict)

    def judge(self, parts: Mapping[str, Path], chosen: Chosen | None = None) -> None:
        """Judge all histories of these parts, or those chosen of each."""
        asked = []
        for part, packed in parts.items():
            names = None if chosen is None else sorted(chosen.get(part, ()))
            if names != []:
                key = hashlib.sha256(f"{fingerprint(packed)}{names}".encode()).hexdigest()
                file = self._files[part] = self.kept / self._code / f"{key}.jsonl"
                if self.fresh or not file.exists():
                    asked.append((part, str(packed), names))
        if asked:
            self._ask(asked)

    def said(self, part: str) -> list[Judged]:
        """Return what was said of each history of a part, nothing of a part that was not judged."""
        if part not in self._files:
            return []
        decoded = map(line.decode, self._files[part].read_bytes().splitlines())
        return [one for one in decoded if isinstance(one, Judged)]

    def _ask(self, asked: Sequence[object]) -> None:
        with subprocess.Popen([*self._command, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(asked).encode())
            process.stdin.close()
            lines: list[bytes] = []
            for one in process.stdout:
                lines.append(one)
                if isinstance(end := line.decode(one), End):
                    self.peak_mb = max(self.peak_mb, end.peak_mb)
                    print(f"{self.python}: {end.part}, {len(lines) - 1} histories", file=sys.stderr, flush=True)
                    _write(self._files[end.part], lines)
                    lines = []
        if process.returncode:
            raise SystemExit(f"{self.python} {PROGRAM} ended with {process.returncode}: see what it wrote above")

    @cached_property
    def _code(self) -> str:
        command = [*self._command, PROGRAM, "--digest"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()[:16]

    @property
    def _command(self) -> list[Path | str]:
        # Isolated: what is in the environment of this process is not for an earlier checkout.
        return [self.python, "-I"]


def _write(file: Path, lines: Sequence[bytes]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(".aside")
    aside.write_bytes(b"".join(lines))
    aside.rename(file)
