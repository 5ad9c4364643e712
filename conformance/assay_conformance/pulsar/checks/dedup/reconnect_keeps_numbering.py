"""dedup.reconnect-keeps-numbering"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from assay_conformance.checks.base import Check, ms
from assay_conformance.checks.lines import Line, Unit, last_id
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID


class ReconnectKeepsNumbering(Check):
    """After a reconnect the next message has the producer's own last id plus one, whatever last id the broker reports.

    Judged is the first message sent after each later PRODUCER_SUCCESS, where the broker's last id and the producer's
    own lead to different ids. A producer that has sent nothing yet may use the broker's.
    """

    requirement = RequirementId("dedup.reconnect-keeps-numbering")
    skips_plain = True

    def finish(self) -> None:
        for line in self.tracker.lines.all:
            if line.handle is None or line.handle in self.tracker.foresight.explicit:
                continue
            if self.view.producer_setting(line.handle, "batching_type") != "key_based":
                starts = self._unit_starts(line) if len(line.sessions) > 1 else []
                for session in line.sessions[1:]:
                    self._judge(line, session, starts)

    def _judge(self, line: Line, session: ProducerSession, starts: Sequence[tuple[int, Unit, Unit]]) -> None:
        ready = session.ready
        pair = next(((before, unit) for seq, before, unit in starts if ready is not None and seq > ready.seq), None)
        if ready is None or pair is None:
            return
        before, unit = pair
        own, reported = last_id(before), int(ready.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        between = unit.numbers[0] - before.numbers[-1]
        if own < reported + 1 <= own + between:
            return  # Both lead to the same id.
        if unit.sequence_id != reported + 1:
            self.exercise(unit.first)
            return
        self.breach(
            "took-the-brokers",
            f"{line}: after PRODUCER_SUCCESS on connection {session.conn} at {ms(ready.t_ns)} with last sequence id "
            f"{reported}, message {unit.numbers[0]} left at {ms(unit.first.t_ns)} with sequence id {unit.sequence_id}; "
            f"expected {own + 1}, since the producer itself had sent up to {own}",
            before.first,
            ready,
            unit.first,
        )

    def _unit_starts(self, line: Line) -> list[tuple[int, Unit, Unit]]:
        """Return for each unit the number of its first send call, the unit of earlier messages before it, and the
        unit."""
        known = [unit for unit in line.units if unit.numbers]
        return [
            (send.invoke.seq, before, unit)
            for before, unit in itertools.pairwise(known)
            if before.numbers[-1] < unit.numbers[0]
            and (send := self.tracker.send_of(line.handle or 0, unit.numbers[0])) is not None
        ]
