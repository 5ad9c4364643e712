"""Time-outs of a process that may stand still: what came meanwhile is seen before anything is over."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import pytest
import uvloop

from assay_faults.awake import LOOK_S, Awake, timeout_awake

LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


@LOOPS
def test_what_came_while_this_process_stood_still_is_seen(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def waits() -> str:
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str] = loop.create_future()
        read, write = os.pipe()
        loop.add_reader(read, heard.set_result, "there")
        try:
            async with timeout_awake(0.2):
                os.write(write, b"!")
                time.sleep(0.5)  # noqa: ASYNC251 - the loop is late on purpose
                return await heard
        finally:
            loop.remove_reader(read)
            os.close(read)
            os.close(write)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(waits()) == "there"


def test_what_does_not_come_is_over_in_time() -> None:
    async def waits() -> None:
        async with timeout_awake(0.2):
            await asyncio.Event().wait()

    began_s = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(waits())
    assert time.monotonic() - began_s >= 0.2


def test_what_ends_in_time_leaves_no_task_behind() -> None:
    async def waits() -> None:
        before = asyncio.all_tasks()
        async with timeout_awake(30):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    asyncio.run(waits())


def test_a_look_that_is_late_counts_as_one_in_time() -> None:
    times = iter([0.0, LOOK_S / 2, 100.0])
    awake = Awake(lambda: next(times))
    assert awake.look() == pytest.approx(LOOK_S / 2)
    assert awake.look() == pytest.approx(1.5 * LOOK_S)
