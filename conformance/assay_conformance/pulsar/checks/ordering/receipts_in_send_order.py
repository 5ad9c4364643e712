from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.history.events import grouped
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


class _Receipted(NamedTuple):
    """A SEND and its receipt. `furthest`: of the SENDs of its producer that had theirs by then, the one that arrived
    last; `is_alone`: none was without an answer."""

    publish: Publish
    receipt: Frame
    furthest: Publish | None
    is_alone: bool


def _receipted(timeline: Timeline) -> Iterator[_Receipted]:
    """Yield SENDs in order of their receipts, producer by producer.

    An error and the receipt of a duplicate are sent without storing, and may overtake.
    """
    for publishes in grouped(timeline.publishes.all, lambda one: one.producer).values():
        answered = ((one.likely_answer, one) for one in publishes if one.likely_answer is not None)
        furthest, arrived = None, 0
        for number, (answer, publish) in enumerate(sorted(answered, key=lambda pair: pair[0].seq), 1):
            while arrived < len(publishes) and publishes[arrived].send.seq < answer.seq:
                arrived += 1
            if publish.is_vague or answer.command == "SEND_ERROR" or is_duplicate(answer):
                continue
            yield _Receipted(publish, answer, furthest, is_alone=arrived == number)
            if furthest is None or publish.send.seq > furthest.send.seq:
                furthest = publish


@check("ordering.receipts-in-send-order", of=_receipted)
def receipts_in_send_order(timeline: Timeline, receipted: _Receipted) -> Says:
    """ordering.receipts-in-send-order: on each producer session receipts leave the broker in the order in which their
    SENDs reached it.

    Where a sequence id is pending twice it is unknown which SEND a receipt is for, and it is not judged.
    """
    publish, receipt, furthest, is_alone = receipted
    if not is_alone:
        yield Exercised(receipt)
    before = None if furthest is None else furthest.likely_answer
    if furthest is not None and before is not None and publish.send.seq < furthest.send.seq:
        yield breach(
            "receipt-out-of-order",
            f"the broker answered sequence id {publish.id} on connection {receipt.conn} at {ms(receipt.t_ns)}; "
            f"expected its answer before that to sequence id {furthest.id}, whose SEND arrived later and was answered "
            f"at {ms(before.t_ns)}",
            *(before, receipt),
        )
