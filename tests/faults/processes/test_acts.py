"""What is done to a process is done when the call returns, and never to another."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from assay_conformance.model.errors import HarnessError
from assay_faults.processes import acts
from assay_faults.processes.identity import Identity, ProcessState, identify, parent_of, state

DEAF = "trap '' TERM; echo up; while :; do read line; done"
HEARS = "trap 'exit 3' TERM; echo up; while :; do read line; done"


@contextmanager
def running(script: str) -> Iterator[Identity]:
    """A shell that has said it is up."""
    with subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        identity = identify(process.pid)
        assert identity is not None
        try:
            yield identity
        finally:
            process.kill()


def test_a_killed_process_is_dead_when_the_call_returns() -> None:
    with running(DEAF) as process:
        asyncio.run(acts.kill("it", process))
        assert state(process) is ProcessState.ZOMBIE


def test_a_paused_process_is_stopped_when_the_call_returns_and_goes_on_when_resumed() -> None:
    with running(DEAF) as process:
        asyncio.run(acts.pause("it", process))
        assert state(process) is ProcessState.STOPPED
        asyncio.run(acts.resume("it", process))
        assert state(process) is ProcessState.ALIVE


def test_a_process_that_ended_while_this_one_stood_still_has_not_outlived_the_signal() -> None:
    async def stops(process: Identity) -> None:
        stopping = asyncio.create_task(acts.stop("it", process, grace_s=0.5))
        await asyncio.sleep(0)
        time.sleep(1.0)  # noqa: ASYNC251 - the loop is late on purpose
        await stopping

    with running(HEARS) as process:
        asyncio.run(stops(process))
        assert state(process) is ProcessState.ZOMBIE


def test_a_paused_process_can_be_stopped() -> None:
    with running(HEARS) as process:
        asyncio.run(acts.pause("it", process))
        asyncio.run(acts.stop("it", process))
        assert state(process) is ProcessState.ZOMBIE


def test_a_process_that_does_not_listen_is_said_to_outlive_the_signal() -> None:
    with running(DEAF) as process, pytest.raises(HarnessError, match=r"it \(pid \d+\) outlived SIGTERM by 0.1 s"):
        asyncio.run(acts.stop("it", process, grace_s=0.1))


@pytest.mark.parametrize("act", [acts.kill, acts.stop, acts.pause, acts.resume])
def test_another_process_with_the_pid_is_not_touched(act: Callable[[str, Identity], Coroutine[Any, Any, None]]) -> None:
    with running(DEAF) as process:
        earlier = Identity(process.pid, process.start_ticks - 1)
        with pytest.raises(HarnessError, match="has ended by itself"):
            asyncio.run(act("it", earlier))
        assert state(process) is ProcessState.ALIVE


def test_a_process_that_is_down_cannot_be_harmed() -> None:
    with pytest.raises(HarnessError, match="bookie 2 is down"):
        acts.known("bookie 2", None)


def test_a_process_has_a_parent_until_it_was_waited_for() -> None:
    with subprocess.Popen(["true"]) as child:
        assert parent_of(child.pid) == os.getpid()
    assert parent_of(child.pid) is None
