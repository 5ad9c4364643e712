"""The keeper: it starts the programs of a runner, and ends whatever is left of each.

`python -I -S _keeper.py NOTES LOCK ENDS_ALL_S ORPHAN_ENDS_S`, the last two from `bounds.py`, which it cannot import.

The runner holds the other end of its stdin, a socket. One byte on it, with descriptors, asks for a program: a file
with what to start (`marshal`: command, environment, folder, whether it adopts), the keeper's end of a line of its own,
and stdin, stdout and stderr. On that line the keeper says `pid N`, and `exit STATUS` once nothing is left that the
program started. `sweep` on it asks to end what has lost its parent now; its end asks to end the program. The end of
stdin, which the kernel brings about when the runner dies, ends everything.

Every program is a child subreaper, and so is the keeper: what loses its parent stays below its program, whatever
session, group or environment it has, and becomes a child of the keeper when the program ends. A child of the keeper
that is no program is therefore something left over, and is killed; its own children come next, in the same way.
Only children are killed: their pids are not reused before the keeper has waited for them.

NOTES is a file, or nothing: there the keeper notes the descendants that carry no mark in their environment, for the
process that cleans up after a keeper that was killed. LOCK is a descriptor, or nothing: the lock of that journal, which
is held as long as the keeper lives, so that no other process cleans up meanwhile.

Standard library only, and little of it. Elsewhere than on Linux there are no subreapers: process groups are ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import marshal
import os
import select
import signal
import socket
import sys
import time

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
MARK = b"ASSAY_LEDGER="
TICK_MS = 20
"""How soon what is being ended is looked at again; the end of a child wakes the keeper before."""
NOTED_EVERY_S = 2.0
NOTED_AFTER_START_S = 0.25
KEPT_FROM_PROGRAMS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored here or by Python; a program gets them as they are by default."""


class Program:
    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.status = 0
        self.given_up_s = 0.0


class Keeper:
    def __init__(self, notes: str, lock: str, ends_all_s: float, orphan_ends_s: float) -> None:
        if lock:
            os.set_inheritable(int(lock), False)
        self.ends_all_s, self.orphan_ends_s = ends_all_s, orphan_ends_s
        self.pid = os.getpid()
        self.requests = socket.socket(fileno=0)
        self.requests.setblocking(False)
        self.programs: dict[int, Program] = {}
        self.ended: list[Program] = []
        self.suspects = False
        self.leaves_by_s: float | None = None
        self.notes = Notes(notes, self.pid) if notes and LINUX else None
        self.libc = ctypes.CDLL(None)
        self.wakes, wake = os.pipe()
        os.set_blocking(self.wakes, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in KEPT_FROM_PROGRAMS:
            signal.signal(number, signal.SIG_IGN)
        if LINUX:
            self.libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.poll = select.poll()
        self.poll.register(self.requests.fileno(), select.POLLIN)
        self.poll.register(self.wakes, select.POLLIN)
        self.lines: dict[int, Program] = {}

    def serve(self) -> None:
        if self.notes is not None:
            self.notes.take()
        while not self.is_over():
            for descriptor, _ in self.poll.poll(self.waits_ms()):
                if descriptor == self.wakes:
                    os.read(self.wakes, 4096)
                elif descriptor in self.lines:
                    self.hear(self.lines[descriptor])
                else:
                    self.asked()
            self.reap()
            self.sweep()
            if self.notes is not None and self.programs:
                self.notes.take()

    def waits_ms(self) -> float | None:
        if self.ended or self.suspects or self.leaves_by_s is not None:
            return TICK_MS
        return self.notes.waits_ms() if self.notes is not None and self.programs else None

    def is_over(self) -> bool:
        if self.leaves_by_s is None:
            return False
        return not (self.programs or self.ended or self.suspects) or time.monotonic() > self.leaves_by_s

    # --- what is asked ---

    def asked(self) -> None:
        try:
            word, descriptors, _, _ = socket.recv_fds(self.requests, 1, 5)
        except BlockingIOError:
            return
        except OSError:
            word, descriptors = b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if not word:
            self.poll.unregister(self.requests.fileno())
            self.leaves_by_s = time.monotonic() + self.ends_all_s
            self.suspects = True
            for program in list(self.programs.values()):
                self.end(program)
        elif len(descriptors) == 5:
            self.start(*descriptors)
        else:  # there were too few descriptors to take them
            for descriptor in descriptors:
                os.close(descriptor)

    def start(self, order: int, its_line: int, *streams: int) -> None:
        line = socket.socket(fileno=its_line)
        try:
            with open(order, "rb") as file:
                wanted = marshal.loads(file.read())
            leads, tells = os.pipe()
            streams = (*streams, leads, tells)
            pid = os.fork()
            if pid == 0:
                self.become(wanted, streams)
            os.close(tells)
            streams = streams[:-1]
            # It cannot be signalled as a session or group until it leads one.
            os.read(leads, 1)
        except OSError as error:
            say(line, b"error %d\n" % (error.errno or errno.EIO))
            line.close()
            return
        finally:
            if os.getpid() == self.pid:
                for stream in streams:
                    os.close(stream)
        line.setblocking(False)
        program = self.programs[pid] = Program(line)
        self.lines[line.fileno()] = program
        self.poll.register(line.fileno(), select.POLLIN)
        say(line, b"pid %d\n" % pid)
        if self.notes is not None:
            self.notes.soon()

    def become(self, wanted: tuple[list[bytes], dict[bytes, bytes], bytes, bool], descriptors: tuple[int, ...]) -> None:
        """Turn the child into its program."""
        program = b"?"
        try:
            command, environment, folder, adopts = wanted
            program = command[0]
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in KEPT_FROM_PROGRAMS:
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            *streams, _, tells = descriptors
            for place, stream in enumerate(streams):
                os.dup2(stream, place)
            if LINUX:
                self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if adopts:
                    self.libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
                if os.getppid() != self.pid:  # it died before the kernel knew of us
                    os._exit(1)
            os.write(tells, b"y")
            os.chdir(folder)
            os.execvpe(program, command, environment)
        except OSError as error:
            os.write(2, b"cannot start %s: %s\n" % (program, os.strerror(error.errno or errno.EIO).encode()))
        finally:
            os._exit(127)

    def hear(self, program: Program) -> None:
        try:
            words = program.line.recv(64)
        except BlockingIOError:
            return
        except OSError:
            words = b""
        self.suspects = True
        if not words:
            self.silence(program)
            self.end(program)

    def silence(self, program: Program) -> None:
        """Stop listening to the runner of a program, on a line that carries no more."""
        if self.lines.pop(program.line.fileno(), None) is not None:
            self.poll.unregister(program.line.fileno())

    def end(self, program: Program) -> None:
        for pid, other in self.programs.items():
            if other is program:
                kill(pid)

    # --- what has ended ---

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.suspects = True
            program = self.programs.pop(pid, None)
            if program is None:
                continue
            program.status = os.waitstatus_to_exitcode(status)
            program.given_up_s = time.monotonic() + self.orphan_ends_s
            self.ended.append(program)
            if not LINUX:
                kill(pid)

    def sweep(self) -> None:
        """Kill what has lost its parent, and report the ends of programs once there is nothing more to kill."""
        if not (self.ended or self.suspects):
            return
        left = [pid for pid in children(self.pid) if pid not in self.programs]
        for pid in left:
            kill(pid)
        self.suspects = bool(left)
        for program in list(self.ended):
            if not left or time.monotonic() > program.given_up_s:
                self.ended.remove(program)
                say(program.line, b"exit %d\n" % program.status)
                self.silence(program)
                program.line.close()


class Notes:
    """What the last look found: `TICKS PARENT...`, when that was and the processes above the keeper, one of which gets
    what loses its parent when the keeper is killed; then the descendants without a mark, as `PID START_TICKS NAME`."""

    def __init__(self, path: str, pid: int) -> None:
        self.path = path
        self.pid = pid
        self.above = above(pid)
        self.next_s = 0.0

    def soon(self) -> None:
        self.next_s = min(self.next_s, time.monotonic() + NOTED_AFTER_START_S)

    def waits_ms(self) -> float:
        return max(0.0, self.next_s - time.monotonic()) * 1000

    def take(self) -> None:
        now_s = time.monotonic()
        if now_s < self.next_s:
            return
        self.next_s = now_s + NOTED_EVERY_S
        ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        lines = [b" ".join(b"%d" % number for number in (ticks, *self.above))]
        for (pid, start), name in descendants(self.pid).items():
            if not carries_mark(pid):
                lines.append(b"%d %d %s" % (pid, start, name.replace(b"\n", b" ")))
        # On a full disk there is nothing to note it on.
        with contextlib.suppress(OSError):
            with open(self.path + ".new", "wb") as file:
                file.write(b"\n".join(lines) + b"\n")
            os.replace(self.path + ".new", self.path)


def carries_mark(pid: int) -> bool:
    """Return whether a process carries the mark.

    A program that is just beginning shows no environment for a moment: it counts as unmarked until the next look.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return MARK in file.read()
    except OSError:
        return False


def above(pid: int) -> list[int]:
    """Return the pids of a process's parent, of that one's parent, and so on."""
    known, found = table(), list[int]()
    while pid in known and known[pid][0]:
        pid = known[pid][0]
        found.append(pid)
    return found


def say(line: socket.socket, words: bytes) -> None:
    with contextlib.suppress(OSError):  # its runner has gone, or let go of it
        line.send(words)


def kill(pid: int) -> None:
    """Kill a child, with its process group if it leads one.

    Until a child has been waited for, its pid cannot be used again.
    """
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, signal.SIGKILL)


def children(pid: int) -> list[int]:
    if not LINUX:
        return []
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return [child for child, (parent, _, _) in table().items() if parent == pid]


def descendants(pid: int) -> dict[tuple[int, int], bytes]:
    """Return the names of all descendants of a process, by pid and start time."""
    known = table()
    below, found = {pid}, dict[tuple[int, int], bytes]()
    grows = True
    while grows:
        grows = False
        for child, (parent, start, name) in known.items():
            if parent in below and child not in below:
                below.add(child)
                found[child, start] = name
                grows = True
    return found


def table() -> dict[int, tuple[int, int, bytes]]:
    """Return the parent, start time and name of every visible process of this machine, by pid."""
    found: dict[int, tuple[int, int, bytes]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/" + entry + "/stat", "rb") as file:
                    head, _, tail = file.read().rpartition(b")")
            except OSError:
                continue
            fields = tail.split()
            found[int(entry)] = int(fields[1]), int(fields[19]), head.partition(b"(")[2]
    return found


if __name__ == "__main__":
    Keeper(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])).serve()
