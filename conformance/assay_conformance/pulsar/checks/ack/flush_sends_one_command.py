"""One flush, one command: what is acknowledged by then leaves together, where the broker takes several ids."""

from __future__ import annotations

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import SessionKey, acked_entries, number_in_force, of_batch, session_key
from assay_conformance.checks.tolerance import MS, TOLERANCES, Tolerance
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.connection._versions import SEVERAL_IDS_SINCE

MAX_IDS = 1_000
"""What fits one command, as in the Java client."""


def _margin(call: Call, before: Frame) -> Tolerance:
    """So long before the ACK left had its client been told: that is what a busy machine would have to make up for."""
    return Tolerance((before.t_ns - call.called_ns) // MS, "the flush may have been under way")


class FlushSendsOneCommand(VersionCheck, AckCheck):
    """An ACK names an entry that the client had been told of well before another ACK left, which had room for it.

    Without an interval there is nothing to flush together: each call has a command of its own.
    """

    requirement = RequirementId("ack.flush-sends-one-command")
    skips_plain = True

    def start(self) -> None:
        super().start()
        self._told: dict[SessionKey, dict[Entry, Call]] = {}
        self._last: dict[SessionKey, Frame] = {}
        self._named: dict[SessionKey, dict[Entry, Frame]] = {}
        """The ACK that named an entry last: a call that waits for the broker's answer is told of after it."""

    def called(self, call: Call) -> None:
        session = self.session_of(call)
        single = call.invoke.verb == "ack" and not call.cumulative and not of_batch(call.message.message_id)
        if not single or session is None:
            return
        key = session_key(session)
        named = self._named.get(key, {}).get(call.entry)
        if named is None or named.t_ns < call.invoke.t_ns:
            self._told.setdefault(key, {}).setdefault(call.entry, call)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        version, _ = self.agreed.get(event.conn, (0, event))
        if version < SEVERAL_IDS_SINCE or event.ack_type == "Cumulative":
            return
        key = session_key(session)
        before, self._last[key] = self._last.get(key), event
        entries, told = acked_entries(session, event), self._told.get(key, {})
        self._named.setdefault(key, {}).update(dict.fromkeys(entries, event))
        calls = [told.pop(entry) for entry in entries if entry in told]
        late = [call for call in calls if before is not None and self._had_room(call, before)]
        if not late or before is None:
            if len(event.ids) > 1:
                self.exercise(event)
        elif number_in_force(self.view, consumer, "ack_group_ms") == 0:
            return
        elif not self.tracker.load.quiet(late[0].called_ns, before.t_ns, _margin(late[0], before)):
            self.undecided("the machine was too busy to tell what an ACK could have named")
        else:
            self.breach(
                "several-commands",
                f"consumer {consumer.handle} was told at {ms(late[0].called_ns)} to acknowledge "
                f"{late[0].entry}; its ACK at {ms(before.t_ns)} named {len(before.ids)} others, and not this one, "
                f"which left by itself at {ms(event.t_ns)}",
                late[0].invoke,
                before,
                event,
            )

    def _had_room(self, call: Call, before: Frame) -> bool:
        slack_ns = TOLERANCES["crossing"].slack_ns
        return len(before.ids) < MAX_IDS and call.called_ns + slack_ns < before.t_ns

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        key = session_key(session)
        self._last.pop(key, None)
        self._told.pop(key, None)
