"""Outside programs, each started and ended by the keeper, a process between this one and all that it starts.

The keeper (`_keeper.py`) begins with the first program and ends with this process, however that ends; with it ends
every descendant of every program, whatever session or environment it has. A program has ended when nothing of it is
left: what it started is killed with it. Nothing else of the suite starts what may start something itself.

Streams are descriptors of the caller, who closes its own copies; None is the null device. Where the keeper cannot be
started, starting a program raises OSError.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_faults.awake import timeout_awake
from assay_faults.bounds import (
    BEGINS_WITHIN_S,
    KEEPER_ENDS_ALL_S,
    KEEPER_LEAVES_WITHIN_S,
    KEEPER_LET_GO_S,
    ORPHAN_ENDS_S,
)
from assay_faults.cleanup_journal import MARKER

_PROGRAM: Final = Path(__file__).with_name("_keeper.py")
_WORD_BYTES: Final = 256
_ALL: Final = b"a"


@dataclass(frozen=True, slots=True)
class Order:
    """What to start. `folder` is this process's own when None. With `adopts`, descendants that lose their parent stay
    below the program until it ends; without, the next `Program.sweep` ends them."""

    command: Sequence[str | Path]
    environment: Mapping[str, str]
    folder: Path | None = None
    adopts: bool = True


class KeeperGoneError(OSError):
    """The keeper had ended before it could start the program."""


class Program:
    """A program that was asked for. `pid` is also that of its session and group; None until it has begun.

    It goes on whether or not anything here refers to it, until `end` or the end of its keeper. Not thread-safe.
    """

    def __init__(self, line: socket.socket, running: set[Program]) -> None:
        """Join `running`, which keeps the program until its end is known.

        The keeper ends a program whose line is closed.
        """
        self.pid: int | None = None
        self.returncode: int | None = None
        self._line = line
        self._heard = b""
        self._trouble: OSError | None = None
        self.before_close: Callable[[], object] = lambda: None
        """Called when it has ended, while `fileno` is still its own."""
        self._running = running
        running.add(self)
        line.setblocking(False)

    def fileno(self) -> int:
        """Return the descriptor that is readable when `hear` has something to do."""
        return self._line.fileno()

    def hear(self) -> None:
        """Take in what the keeper has said, without waiting."""
        while self.returncode is None:
            try:
                words = self._line.recv(_WORD_BYTES)
            except BlockingIOError:
                return
            except OSError:
                words = b""
            if not words:  # the keeper has ended, and the kernel has killed the program
                self._over(-signal.SIGKILL)
                return
            *lines, self._heard = (self._heard + words).split(b"\n")
            for line in lines:
                self._take(*line.split())

    def _take(self, word: bytes, number: bytes) -> None:
        if word == b"pid":
            self.pid = int(number)
        elif word == b"exit":
            self._over(int(number))
        else:
            self._trouble = OSError(int(number), os.strerror(int(number)))
            self._over(-signal.SIGKILL)

    def _over(self, status: int) -> None:
        self.returncode = status
        self._running.discard(self)
        self.before_close()
        self._line.close()

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, or None while the program runs."""
        self.hear()
        return self.returncode

    def begun(self, within_s: float = BEGINS_WITHIN_S) -> None:
        """Wait until it has a pid. KeeperGoneError, or OSError when no process can be had."""
        self._wait(lambda: self.pid is not None or self.returncode is not None, within_s)
        self.prove()

    def prove(self) -> None:
        """Raise OSError when the program never began."""
        if self._trouble is not None:
            raise self._trouble
        if self.pid is None and self.returncode is not None:
            raise KeeperGoneError("the process that keeps programs has ended")
        if self.pid is None:
            raise OSError("the process that keeps programs does not answer")

    def wait(self, within_s: float | None = None) -> int:
        """Wait until nothing of the program is left, and return its exit status.

        Raise TimeoutError after `within_s`.
        """
        self._wait(lambda: self.returncode is not None, within_s)
        if self.returncode is None:
            raise TimeoutError
        return self.returncode

    def settle(self, within_s: float) -> None:
        """Wait until nothing of the program is left, or give up after `within_s`."""
        self._wait(lambda: self.returncode is not None, within_s)

    def _wait(self, done: Callable[[], bool], within_s: float | None) -> None:
        until_s = None if within_s is None else time.monotonic() + within_s
        self.hear()
        while not done():
            left_s = None if until_s is None else until_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return
            waiting = select.poll()
            waiting.register(self._line, select.POLLIN)
            waiting.poll(None if left_s is None else left_s * 1000)
            self.hear()

    def end(self) -> None:
        """Kill the program and its descendants, if it has not ended; `wait` returns when that is done."""
        if self.returncode is None:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)

    def sweep(self) -> None:
        """Kill what has lost its parent below programs that adopt nothing."""
        if self.returncode is None:
            with contextlib.suppress(OSError):
                self._line.send(b"sweep")


class Keeper:
    """The keeper of this process. `mark` is carried in the environment by all that it starts, `notes` is where it notes
    what does not carry it, and `lock` a descriptor that it keeps open. `ended` is called once it has been let go of."""

    def __init__(
        self,
        mark: str = "",
        notes: Path | None = None,
        lock: int | None = None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        environment = {**os.environ, **({MARKER: mark} if mark else {})}
        arguments = (notes or "", "" if lock is None else lock, KEEPER_ENDS_ALL_S, ORPHAN_ENDS_S)
        try:
            with theirs:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_PROGRAM), *map(str, arguments)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,
                    pass_fds=() if lock is None else (lock,),
                )
        except BaseException:
            ours.close()
            raise
        self._requests = ours
        self._running = set[Program]()
        self._mark = mark
        self._ended = ended

    @property
    def pid(self) -> int:
        return self._process.pid

    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, order: Order, stdin: int | None, stdout: int | None, stderr: int) -> Program:
        """Order a program; `Program.begun` says when it has started.

        Raise KeeperGoneError, or OSError when the order cannot be sent.
        """
        environment = {MARKER: self._mark, **order.environment} if self._mark else dict(order.environment)
        wanted = (
            [os.fsencode(word) for word in order.command],
            {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            os.fsencode(order.folder or Path.cwd()),
            order.adopts,
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs, tempfile.TemporaryFile() as file, open(os.devnull, "r+b", buffering=0) as nothing:
                file.write(marshal.dumps(wanted))
                file.seek(0)
                streams = (nothing.fileno() if stream is None else stream for stream in (stdin, stdout, stderr))
                socket.send_fds(self._requests, [_ALL], [file.fileno(), theirs.fileno(), *streams])
        except (BrokenPipeError, ConnectionResetError) as error:
            ours.close()
            raise KeeperGoneError("the process that keeps programs has ended") from error
        except BaseException:
            ours.close()
            raise
        return Program(ours, self._running)

    def let_go(self, within_s: float) -> None:
        """End everything that it has started, and it; subprocess.TimeoutExpired when it takes longer."""
        self._requests.close()
        self._process.wait(within_s)

    def close(self) -> None:
        """Do as `let_go` does, and kill a keeper that takes too long."""
        try:
            self.let_go(KEEPER_LEAVES_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(KEEPER_LEAVES_WITHIN_S)
        else:
            self._ended()


class _Own:
    """The keeper of this very process, begun when it is first needed; a child by fork begins one of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keeper: Keeper | None = None
        self._pid = 0
        self._gone = False
        self.begin: Callable[[], Keeper] = Keeper

    def is_gone(self) -> None:
        """Begin another keeper at the next start: between the kill of a keeper and the moment in which it can be waited
        for it seems to live."""
        self._gone = True

    def __call__(self) -> Keeper:
        with self._lock:
            if self._keeper is None or self._pid != os.getpid() or self._gone or not self._keeper.lives():
                self._gone = False
                self._keeper, self._pid = self.begin(), os.getpid()
                atexit.register(self.close)
            return self._keeper

    def let_go(self, within_s: float = KEEPER_LET_GO_S) -> None:
        """End everything, for a process that is about to end: without the lock, which it may hold itself."""
        if self._keeper is not None and self._pid == os.getpid():
            self._keeper.let_go(within_s)

    def close(self) -> None:
        with self._lock:
            keeper, self._keeper = self._keeper, None
            if keeper is not None and self._pid == os.getpid():
                keeper.close()


own: Final = _Own()
"""`own()` is the keeper of this process; `own.begin` makes it."""


def start(order: Order, stdin: int | None, stdout: int | None, stderr: int) -> Program:
    """Start a program, and wait until it has a pid.

    Raise OSError when no process can be had. A command that cannot be executed ends with status 127 and a sentence on
    its stderr.
    """
    try:
        return _started(own().ask(order, stdin, stdout, stderr))
    except KeeperGoneError:
        own.is_gone()
        return _started(own().ask(order, stdin, stdout, stderr))


def _started(program: Program) -> Program:
    try:
        program.begun()
    except BaseException:
        program.end()
        raise
    return program


class Watched:
    """A program as the running event loop sees it: `returncode` is set as soon as nothing is left of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._changed = asyncio.Event()
        loop, descriptor = asyncio.get_running_loop(), program.fileno()
        program.before_close = lambda: loop.remove_reader(descriptor)
        loop.add_reader(descriptor, self._hear)

    @classmethod
    async def start(cls, order: Order, stdin: int | None, stdout: int | None, stderr: int) -> Watched:
        """Do as `start` of this module does."""
        try:
            return await cls._started(own().ask(order, stdin, stdout, stderr))
        except KeeperGoneError:
            own.is_gone()
            return await cls._started(own().ask(order, stdin, stdout, stderr))

    @classmethod
    async def _started(cls, program: Program) -> Watched:
        watched = cls(program)
        try:
            async with timeout_awake(BEGINS_WITHIN_S):
                await watched._until(lambda: program.pid is not None or program.returncode is not None)
        except TimeoutError:
            watched.end()
        except BaseException:
            watched.end()
            raise
        program.prove()
        return watched

    @property
    def pid(self) -> int:
        assert self.program.pid is not None
        return self.program.pid

    @property
    def returncode(self) -> int | None:
        return self.program.returncode

    async def wait(self) -> int:
        """Exit status, negative for a signal, once nothing of it is left."""
        await self._until(lambda: self.program.returncode is not None)
        assert self.program.returncode is not None
        return self.program.returncode

    def end(self) -> None:
        """Kill the program and its descendants."""
        self.program.end()

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._changed.clear()
            await self._changed.wait()

    def _hear(self) -> None:
        self.program.hear()
        self._changed.set()
