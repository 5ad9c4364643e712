"""How far it is: one line that is written over on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

from assay_reports.text import counted

EVERY_S = 0.5
PLAIN_EVERY_S = 10.0
_WIDTH = 100


class Progress:
    """Stages one after the other, each of so many rows. Within a stage Spark's own count of tasks goes on between two
    `done`. Lines go to `out`; nothing is said of a stage that was over at once."""

    def __init__(self, out: TextIO | None = None, session: Any = None) -> None:
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._session = session
        self._lock = threading.Lock()
        self._stage, self._rows, self._done, self._expected = "", 0, 0, 0
        self._began = 0.0

    def watch(self, session: Any) -> None:
        """Count the tasks of this session."""
        self._session = session

    @contextlib.contextmanager
    def stage(self, name: str, rows: int = 0) -> Iterator[None]:
        with self._lock:
            self._stage, self._rows, self._done, self._expected = name, rows, 0, 0
            self._began = time.monotonic()
        over = threading.Event()
        beside = threading.Thread(target=self._report, args=(over,), daemon=True)
        beside.start()
        try:
            yield
        finally:
            over.set()
            beside.join()
            self._write("", end=True)
        took_s = time.monotonic() - self._began
        if took_s > EVERY_S:
            sentence = f"{counted(rows, 'row')} in {took_s:.1f} s, {_many(rows / took_s)} rows/s"
            self._write(f"{name}: {sentence if rows else f'{took_s:.1f} s'}\n")

    def expect(self, rows: int) -> None:
        """Begin a piece of so many rows, after those that are done."""
        with self._lock:
            self._expected = rows

    def done(self, rows: int) -> None:
        """Set how many of the stage's rows are done."""
        with self._lock:
            self._done, self._expected = rows, 0

    def note(self, text: str) -> None:
        self._write("", end=True)
        self._write(f"{text}\n")

    def _report(self, over: threading.Event) -> None:
        every = EVERY_S if self._live else PLAIN_EVERY_S
        while not over.wait(every):
            self._write(self.line(time.monotonic() - self._began) + ("" if self._live else "\n"), over=self._live)

    def line(self, passed_s: float) -> str:
        """Return stage, rows, rate and what remains after `passed_s` seconds, as one line."""
        with self._lock:
            stage, rows, done = self._stage, self._rows, self._done
            expected = self._expected or (rows - done)
        if not rows:
            return f"{stage} … {passed_s:.0f} s"
        at = done + expected * self._share()
        rate = at / passed_s if passed_s else 0.0
        remaining = f", {(rows - at) / rate:.0f} s remain" if rate and at > rows / 50 else ""
        return f"{stage}: {_many(at)} of {_many(rows)} rows, {_many(rate)} rows/s{remaining}"

    def _share(self) -> float:
        """Of the running jobs' tasks, how many are over. A look from outside must never end what it looks at."""
        if self._session is None:
            return 0.0
        with contextlib.suppress(Exception):
            tracker = self._session.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None and stage.numTasks]
            if known:
                completed = sum(int(stage.numCompletedTasks) for stage in known)
                return completed / sum(int(stage.numTasks) for stage in known)
        return 0.0

    def _write(self, text: str, *, over: bool = False, end: bool = False) -> None:
        if end and not self._live:
            return
        # A verdict is not lost because its progress cannot be shown.
        with contextlib.suppress(OSError, ValueError):
            self._out.write(f"\r{text[:_WIDTH]:<{_WIDTH}}" if over else f"\r{'':<{_WIDTH}}\r" if end else text)
            self._out.flush()


def _many(rows: float) -> str:
    return f"{rows / 1e6:.2f} M" if rows >= 1e6 else f"{rows:,.0f}"
