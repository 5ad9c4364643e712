"""What keeps a run from its cores: busy loops beside it, a quota, and stops of its processes at random.

A hardship lasts as long as the command. It affects the machine only: nothing here touches what clients and brokers send
to each other.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

COMPUTES: Final = (sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass")
"""Ends with the bench, also where that is killed."""
LOOPS: Final = 2
QUOTA: Final = 0.5
"""Of one core, for all that a run consists of."""
PERIOD_US: Final = 100_000
STOP_S: Final = 2.0
APART_S: Final = (3.0, 9.0)
"""From the end of one stop to the next."""
DUTY_S: Final = 0.1
"""The period of a quota that is made of stops, where there are no control groups."""

CGROUP_V2: Final = Path("/sys/fs/cgroup")
CGROUP_V1: Final = Path("/sys/fs/cgroup/cpu")


class Hardship(StrEnum):
    """What a run suffers."""

    IDLE = "idle"
    LOOPS = "loops"
    QUOTA = "quota"
    RUNNER_STOPS = "runner-stops"
    ALL_STOP = "all-stop"
    AGENT_STOPS = "agent-stops"


@dataclass(frozen=True, slots=True)
class Suffered:
    """How a command ended, and how it was held up. `stops`: how often, by a stop or by its quota."""

    status: int
    printed: str
    how: str
    stops: int = 0


def suffer(
    hardship: Hardship, command: Sequence[str], *, seed: int, is_agent: Callable[[str], bool], limit_s: float
) -> Suffered:
    """Run `command` to its end under a hardship; one that takes longer than `limit_s` is killed, and its status is
    that of the kill. `is_agent` knows agents by their command lines."""
    with _slowed(hardship) as (prefix, how, count):
        process = subprocess.Popen(
            [*prefix, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        stopper = _Stopper(hardship, process.pid, seed, is_agent, duty=how.startswith("stops"))
        stopper.start()
        try:
            printed, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            stopper.end()
            for pid in (process.pid, *descendants(process.pid)):
                _signal(pid, signal.SIGKILL)
            printed, _ = process.communicate()
        finally:
            stopper.end()
        held_up = count()
    return Suffered(process.returncode, printed, how, stopper.stops + held_up)


_Slowed = tuple[tuple[str, ...], str, Callable[[], int]]
"""How a command begins that is slowed down, a word for what slows it, and how often its quota has held it up."""


@contextmanager
def _slowed(hardship: Hardship) -> Iterator[_Slowed]:
    """Slow a command down."""
    if hardship is Hardship.LOOPS:
        loops = [subprocess.Popen(COMPUTES) for _ in range(LOOPS)]
        try:
            yield (), f"{LOOPS} busy loops", _never
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    elif hardship is Hardship.QUOTA:
        with _quota() as entered:
            yield entered
    else:
        yield (), str(hardship), _never


@contextmanager
def _quota() -> Iterator[_Slowed]:
    """Use a control group of version 2 or 1, whichever there is, or else stops of the whole run."""
    for root, limits in ((CGROUP_V2, _V2), (CGROUP_V1, _V1)):
        group = root / f"assay-bench-{uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if not limit(group, limits):
                continue
            enter = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
            yield enter, f"{QUOTA:g} cores by {group.parent}", partial(throttled, group)
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    yield (), f"stops for {1 - QUOTA:.0%} of every {DUTY_S:g} s", _never


def limit(group: Path, limits: Mapping[str, str]) -> bool:
    """Set these limits of a control group; False where the kernel has made no such files in its folder.

    Version 2 may be mounted beside version 1, below a folder that takes any file.
    """
    if not all((group / name).is_file() for name in limits):
        return False
    try:
        for name, value in limits.items():
            (group / name).write_text(value)
    except OSError:
        return False
    return True


def throttled(group: Path) -> int:
    """Return in how many periods the quota of a control group has held its processes up."""
    counts = dict(line.split() for line in (group / "cpu.stat").read_text("utf-8").splitlines())
    return int(counts["nr_throttled"])


def _never() -> int:
    return 0


_V1: Final[Mapping[str, str]] = {
    "cpu.cfs_period_us": str(PERIOD_US),
    "cpu.cfs_quota_us": str(round(QUOTA * PERIOD_US)),
}
_V2: Final[Mapping[str, str]] = {"cpu.max": f"{round(QUOTA * PERIOD_US)} {PERIOD_US}"}


class _Stopper(threading.Thread):
    """Stops processes of a run, and lets them go on; nothing for the hardships that are none of stops."""

    def __init__(self, hardship: Hardship, runner: int, seed: int, is_agent: Callable[[str], bool], duty: bool) -> None:
        super().__init__(daemon=True)
        self.stops = 0
        self._hardship = Hardship.ALL_STOP if duty else hardship
        self._runner = runner
        self._random = random.Random(seed)
        self._is_agent = is_agent
        self._duty = duty
        self._over = threading.Event()

    def run(self) -> None:
        if self._hardship not in (Hardship.RUNNER_STOPS, Hardship.ALL_STOP, Hardship.AGENT_STOPS):
            return
        while not self._over.wait(DUTY_S * QUOTA if self._duty else self._random.uniform(*APART_S)):
            chosen = self._chosen()
            for pid in chosen:
                _signal(pid, signal.SIGSTOP)
            self.stops += bool(chosen)
            self._over.wait(DUTY_S * (1 - QUOTA) if self._duty else STOP_S)
            for pid in chosen:
                _signal(pid, signal.SIGCONT)

    def _chosen(self) -> Sequence[int]:
        if self._hardship is Hardship.RUNNER_STOPS:
            return [self._runner]
        below = descendants(self._runner)
        if self._hardship is Hardship.ALL_STOP:
            return [self._runner, *below]
        agents = sorted(pid for pid in below if self._is_agent(command_line(pid)))
        return [self._random.choice(agents)] if agents else []

    def end(self) -> None:
        self._over.set()
        if self.is_alive():
            self.join()


def descendants(pid: int) -> list[int]:
    """Return every process that descends from `pid`, without `pid` itself."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (parent := _parent(int(entry))) is not None:
            children.setdefault(parent, []).append(int(entry))
    found, left = [], [pid]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def command_line(pid: int) -> str:
    """Return the words of a process's command line with spaces between them, or "" for a process that is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
    return None


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
