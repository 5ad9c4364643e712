"""Which act a fault means, what its receipt says, and that nothing stays harmed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from assay_conformance.model.errors import UnavailableError
from assay_conformance.model.fault import AfterStep, Fault
from assay_conformance.model.outside import Disconnect, Kill, OnProcess, Pause, Role, Stop, Target
from assay_faults.injector import Process, Situation
from assay_faults.processes.injector import ProcessInjector


class Fake:
    """A process that writes down what was done to it. It is pid 1 at first, and another after each start."""

    name = "broker 0"
    disk = None

    def __init__(self) -> None:
        self.pid: int | None = 1
        self.done: list[str] = []

    async def kill(self) -> None:
        self.done.append("kill")
        self.pid = None

    async def stop(self) -> None:
        self.done.append("stop")
        self.pid = None

    async def pause(self) -> None:
        self.done.append("pause")

    async def resume(self) -> None:
        self.done.append("resume")

    async def start(self) -> None:
        self.done.append("start")
        self.pid = 2


class FakeContainer(Fake):
    """Likewise, with a network of its own."""

    async def disconnect(self) -> None:
        self.done.append("disconnect")

    async def reconnect(self) -> None:
        self.done.append("reconnect")


class Rig:
    """An injector with these actions prepared, on one broker; time does not pass, three sends are under way."""

    def __init__(self, *actions: OnProcess, process: Fake | None = None) -> None:
        self.process = process or Fake()
        self.injector = ProcessInjector(Situation(self._find, lambda: 3, lambda: 0))
        self.faults = {n: Fault(trigger=AfterStep(0), action=action) for n, action in enumerate(actions)}

    def _find(self, target: Target) -> Process:
        if target.role is not Role.BROKER:
            raise UnavailableError(f"there is no {target.role}")
        return self.process

    def run(self, *deeds: Coroutine[Any, Any, Any]) -> list[Any]:
        async def all_of_them() -> list[Any]:
            await self.injector.prepare(self.faults)
            return [await deed for deed in deeds]

        return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("action", "deeds"),
    [
        (Kill(), ["kill", "start"]),
        (Stop(), ["stop", "start"]),
        (Pause(), ["pause", "resume"]),
        (Disconnect(), ["disconnect", "reconnect"]),
    ],
)
def test_each_action_has_its_act_and_its_cure(action: OnProcess, deeds: list[str]) -> None:
    rig = Rig(action, process=FakeContainer())
    rig.run(rig.injector.inject(0), rig.injector.heal(0))
    assert rig.process.done == deeds


def test_the_receipt_names_process_pid_signal_and_what_was_in_flight() -> None:
    rig = Rig(Kill())
    (receipt,) = rig.run(rig.injector.inject(0))
    assert receipt.facts == {"process": "broker 0", "pid": 1, "signal": "SIGKILL", "in_flight": 3, "took_ms": 0}


def test_the_receipt_of_a_restart_names_the_new_pid() -> None:
    rig = Rig(Kill())
    _, receipt = rig.run(rig.injector.inject(0), rig.injector.heal(0))
    assert receipt.facts["pid"] == 2


def test_what_was_not_healed_is_healed_at_the_end() -> None:
    rig = Rig(Pause())
    rig.run(rig.injector.inject(0), rig.injector.close())
    assert rig.process.done == ["pause", "resume"]


def test_what_was_healed_is_left_alone_at_the_end() -> None:
    rig = Rig(Pause())
    rig.run(rig.injector.inject(0), rig.injector.heal(0), rig.injector.close())
    assert rig.process.done == ["pause", "resume"]


def test_what_has_no_network_of_its_own_is_unavailable_before_anything_begins() -> None:
    rig = Rig(Disconnect())
    with pytest.raises(UnavailableError, match="broker 0 has no network of its own"):
        rig.run()


def test_a_target_that_does_not_exist_is_unavailable_before_anything_begins() -> None:
    rig = Rig(Kill(target=Target(role=Role.BOOKIE)))
    with pytest.raises(UnavailableError, match="there is no bookie"):
        rig.run()
