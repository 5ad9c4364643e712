"""What a refused message in chunks is asked for by."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import EntryKey, late, to_client
from assay_conformance.checks.joined import Joined
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Refused:
    """A refused message, its chunks, which of them were asked for since, and by what its last one was."""

    call: Call
    chunks: list[Entry]
    named: set[Entry] = field(default_factory=set)
    request: Frame | None = None


class RequestsAllChunks(RequestCheck):
    """What is refused and asked for by its last chunk is asked for by the others, too.

    The ids may be spread over several commands, before that of the last chunk or soon behind it.
    """

    requirement = RequirementId("nack.requests-all-chunks")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._joined = Joined()
        self._refused: dict[EntryKey, _Refused] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and to_client(event):
            self._joined.came(session, event)

    def asked(self, call: Call) -> None:
        key, session = (call.consumer.handle, call.entry), self.session_of(call)
        if call.invoke.verb == "ack":
            for other in [key] if not call.cumulative else [one for one in self._refused if one[0] == key[0]]:
                self._refused.pop(other, None)
        elif call.invoke.verb == "nack" and session is not None:
            for chunks in self._joined.by_last(session, {call.entry}):
                if len(chunks) > 1:
                    self._refused.setdefault(key, _Refused(call, list(chunks)))

    def redeliver(self, request: Request) -> None:
        event = request.frame
        named = request.named()
        for key in [key for key in self._refused if key[0] == request.consumer.handle]:
            refused = self._refused[key]
            if key[1].topic != request.session.topic:
                continue
            if not named:
                del self._refused[key]
                continue
            refused.named |= named
            if refused.request is None and key[1] in named:
                refused.request = event
            if refused.request is not None and refused.named.issuperset(refused.chunks):
                self.exercise(event)
                del self._refused[key]

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        for key in [key for key in self._refused if consumer is not None and key[0] == consumer.handle]:
            if key[1].topic != session.topic:
                continue
            refused = self._refused.pop(key)
            if refused.request is not None and late("answer", refused.request.t_ns, event.t_ns):
                self._left_out(refused, refused.request)

    def _left_out(self, refused: _Refused, request: Frame) -> None:
        missing = [str(chunk) for chunk in refused.chunks if chunk not in refused.named]
        self.suspect(
            "answer",
            request.t_ns,
            request.t_ns + TOLERANCES["answer"].slack_ns,
            "chunk-left-out",
            f"consumer {refused.call.consumer.handle} refused a message in {len(refused.chunks)} chunks, and asked for "
            f"it at {ms(request.t_ns)} by {refused.call.entry} and not by {', '.join(missing)}: what comes of it "
            "cannot be joined",
            refused.call.invoke,
            request,
        )
