"""routing.custom-router-called-once"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Note
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hooks import RouterCheck, all_known
from assay_conformance.pulsar.checks.routing._routed import Routed


class CustomRouterCalledOnce(RouterCheck):
    """Each message that left, with what the router had been asked."""

    requirement = RequirementId("routing.custom-router-called-once")

    def finish(self) -> None:
        for key, message in self.left.items() if self.told_all else ():
            if not all_known(self.tracker.sends.get(message.handle, ())):
                continue
            said = self.answers.get(key, [])
            found = self._wrong(message, said)
            if found is None:
                self.exercise(message.frame)
            else:
                code, what = found
                self.breach(
                    code,
                    f"{message} went to partition {message.partition} of {message.partitions} at "
                    f"{ms(message.frame.t_ns)}; its router {what}",
                    *said[:2],
                    message.frame,
                )

    def _wrong(self, message: Routed, said: list[Note]) -> tuple[str, str] | None:
        if len(said) != 1:
            return ("asked-again", f"was asked {len(said)} times") if said else ("not-asked", "was not asked")
        partitions, answer = said[0].values["partitions"], said[0].values["answer"]
        if partitions != message.partitions:
            return "wrong-count", f"was told of {partitions} partitions"
        return None if answer == message.partition else ("not-heard", f"had answered {answer}")
