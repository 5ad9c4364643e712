"""What some tests need of the machine, and what is said where it is missing.

A test whose need is not met is skipped as left out. Every session writes what it left out to the file that
ASSAY_TESTS_LEFT_OUT names; `python tests/left_out.py FOLDER` prints what the files of a folder say, as `tox -e
left-out` does at the end. With ASSAY_TESTS_COMPLETE=1, as CI has it, anything left out fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

FILE_VARIABLE = "ASSAY_TESTS_LEFT_OUT"
COMPLETE_VARIABLE = "ASSAY_TESTS_COMPLETE"
MARK = "left out: "
"""How the reason of such a skip begins."""


class Need(StrEnum):
    """What a machine may lack."""

    CHROMIUM = "Chromium"
    PULSAR = "real Pulsar"
    TOXIPROXY = "toxiproxy"
    DOCKER = "Docker"
    ROOT = "root"
    EXT4 = "a disk that can fail"
    NAMESPACES = "network namespaces"


HOW: Mapping[Need, str] = {
    Need.CHROMIUM: "Debian: apt install chromium",
    Need.PULSAR: "assay tools install java; assay tools install pulsar, which needs Maven (Debian: apt install maven)",
    Need.TOXIPROXY: "assay tools install toxiproxy, which builds it: Go's module proxy has to be reachable",
    Need.DOCKER: "Debian: apt install docker.io, as root",
    Need.ROOT: "run the tests as root, where disks can be mounted",
    Need.EXT4: "Debian: apt install e2fsprogs, as root, on a kernel with ext4 and loop devices",
    Need.NAMESPACES: "run the tests as root, or in a container with CAP_NET_ADMIN, CAP_SYS_ADMIN and /dev/net/tun",
}


def missing(need: Need) -> str:
    """Why the machine does not meet a need; empty where it does."""
    return _missing(need)


@cache
def _missing(need: Need) -> str:
    return _PROBES[need]()


def chromium() -> tuple[str, dict[str, str]] | None:
    """The command that starts it, of the machine or as `tests/fetch_chromium.py` got it, and its environment."""
    from tests.fetch_chromium import COMMANDS, FOLDER_VARIABLE, environment, fetched

    if found := next(filter(None, map(shutil.which, COMMANDS)), None):
        return found, dict(os.environ)
    folder = Path(os.environ.get(FOLDER_VARIABLE, "nowhere"))
    program = fetched(folder)
    return None if program is None else (str(program), {**os.environ, **environment(folder)})


def _no_chromium() -> str:
    return "" if chromium() else "there is none in PATH, and none came from the npm registry"


def _complaint_of(find: Callable[[], object]) -> str:
    from assay_conformance.model.errors import AssayError

    try:
        find()
    except AssayError as error:
        return str(error)
    return ""


def _no_pulsar() -> str:
    from assay_fixtures.brokers.jvm.archive import installed

    return _complaint_of(installed)


def _no_toxiproxy() -> str:
    from assay_fixtures.tools.toxiproxy import find_toxiproxy

    return _complaint_of(find_toxiproxy)


def _no_docker() -> str:
    return _no_root() or ("" if shutil.which("dockerd") else "there is no dockerd in PATH")


def _no_root() -> str:
    from assay_faults.disks.disk import lacking

    return "this is not root" if os.geteuid() else lacking()


def _no_ext4() -> str:
    from assay_faults.disks.disk import lacking_ext4

    return _no_root() or lacking_ext4()


def _no_namespaces() -> str:
    from assay_faults.namespaces.devices import lacking

    return lacking()


_PROBES: Mapping[Need, Callable[[], str]] = {
    Need.CHROMIUM: _no_chromium,
    Need.PULSAR: _no_pulsar,
    Need.TOXIPROXY: _no_toxiproxy,
    Need.DOCKER: _no_docker,
    Need.ROOT: _no_root,
    Need.EXT4: _no_ext4,
    Need.NAMESPACES: _no_namespaces,
}


def reason(need: Need) -> str:
    """Of the skip of a test that needs it."""
    return f"{MARK}{need}: {HOW[need]} ({missing(need)})"


def leave_out(need: Need) -> NoReturn:
    """Skip the test that is running."""
    pytest.skip(reason(need))


def require(need: Need) -> None:
    """Skip the test that is running where the need is not met."""
    if missing(need):
        leave_out(need)


def needs(need: Need) -> pytest.MarkDecorator:
    """Decorate a test that is left out where the need is not met."""
    lacks = bool(missing(need))
    return pytest.mark.skipif(lacks, reason=reason(need) if lacks else str(need))


class LeftOut:
    """A pytest plugin: remembers what a session left out, and says so at its end."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if report.skipped and (found := re.match(rf"(?:Skipped: )?{MARK}(.*)", said, re.DOTALL)):
            self.counts[found[1]] = self.counts.get(found[1], 0) + 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if place := os.environ.get(FILE_VARIABLE):
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            Path(place).write_text(json.dumps(self.counts))
        if self.counts and is_complete() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in lines(self.counts):
            terminalreporter.write_line(line)


def is_complete() -> bool:
    """Whether nothing may be left out."""
    return os.environ.get(COMPLETE_VARIABLE, "") not in ("", "0")


def lines(counts: Mapping[str, int]) -> Iterable[str]:
    """What was left out, for a person."""
    if not counts:
        return
    yield "left out:"
    for what, count in sorted(counts.items()):
        yield f"  {count} {'test' if count == 1 else 'tests'} for lack of {what}"


def main(folder: Path) -> int:
    """Print what the sessions that wrote into this folder left out; 1 where they may leave out nothing."""
    counts: dict[str, int] = {}
    for file in sorted(folder.glob("*.json")):
        for what, count in json.loads(file.read_text()).items():
            counts[what] = counts.get(what, 0) + count
    print("\n".join(lines(counts)) or "nothing was left out")
    return int(bool(counts) and is_complete())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
