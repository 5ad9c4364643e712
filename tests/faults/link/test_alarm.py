"""The timer of what is due next."""

from __future__ import annotations

import asyncio

from assay_faults.alarm import Alarm
from assay_fixtures.clock import run_virtual


def test_alarm_that_is_closed_rings_no_more() -> None:
    async def case() -> None:
        rung: list[int] = []
        alarm = Alarm(lambda: 0, lambda: rung.append(1))
        alarm.set(1)
        alarm.close()
        alarm.set(2)
        await asyncio.sleep(1)
        assert rung == []

    run_virtual(case())
