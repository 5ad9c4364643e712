"""How a deviation shows to a script: one function for each finding that can be exported.

The function of finding `code` against `chapter.words` is called `chapter_words__code`; it returns what it saw, or "".
Only its source is used: it is copied into the script, behind `standalone.py`. What it looks for is the symptom of the
finding in this one schedule, and less than what the check of the requirement knows.
"""

from __future__ import annotations

import pulsar

from assay_reports.export.standalone import CALLS, ENDED, HANDLES, ask, frames


def batching_names_all_ids__no_highest_id() -> str:
    for one in frames("SEND"):
        if one.get("num_messages", 1) > 1 and not one.get("highest_sequence_id"):
            return f"SEND of {one['num_messages']} messages, sequence_id {one['sequence_id']}, no highest_sequence_id"
    return ""


def batching_flush_closes_batch__stayed_open() -> str:
    slow = [one for one in CALLS if one.what == "send" and (one.took_s or 99) > 2]
    return f"a blocking send took {slow[0].took_s:.1f} s: it waited for the publish delay" if slow else ""


def batching_delayed_alone__overtakes_batch() -> str:
    ids = [one["sequence_id"] for one in frames("SEND")]
    return f"SEND in the order of sequence ids {ids}: the delayed message left first" if ids != sorted(ids) else ""


def ordering_callbacks_in_send_order__callback_out_of_order() -> str:
    numbers = [one.details["number"] for one in ENDED if one.what.startswith("send")]
    return f"sends completed in the order {numbers}" if numbers != sorted(numbers) else ""


def ordering_sequence_ids_step_by_one__id_reused() -> str:
    sent: dict[object, object] = {}
    for one in frames("SEND"):
        if sent.setdefault(one["sequence_id"], one.get("unit")) != one.get("unit"):
            return f"two messages left with sequence_id {one['sequence_id']}"
    return ""


def dedup_keeps_own_numbering__took_the_brokers() -> str:
    return ordering_sequence_ids_step_by_one__id_reused()


def dedup_resumes_after_last_id__starts_elsewhere() -> str:
    first = frames("SEND")[0]["sequence_id"]
    return f"the first SEND has sequence_id {first}, expected one behind initial_sequence_id" if first == 0 else ""


def _short() -> str:
    for one in CALLS:
        if one.what == "receive" and not one.error and one.result is not None and one.result < one.details["count"]:
            return f"a receive of {one.details['count']} messages ended with {one.result}"
    return ""


def chunking_restarts_at_first_chunk__not_delivered() -> str:
    return _short()


def chunking_filters_repeated_chunk__not_delivered() -> str:
    return _short()


def chunking_delivers_whole_only__not_delivered() -> str:
    return _short()


def chunking_survives_reconnect__not_delivered() -> str:
    return _short()


def seek_starts_at_target__nothing_delivered() -> str:
    return _short()


def _closed() -> str:
    closed = [one for one in ask("events") if one["kind"] == "closed" and one["by"] == "client"]
    return f"the client closed connection {closed[0]['conn']}" if closed else ""


def compression_garbled_message_reported__connection_closed() -> str:
    return _closed()


def robustness_bad_metadata_discarded__connection_closed() -> str:
    return _closed()


def robustness_unknown_command_ignored__connection_closed() -> str:
    return _closed()


def robustness_bad_frame_ends_connection__kept_open() -> str:
    return "" if _closed() else "the connection is still open"


def _reported(error: str) -> bool:
    return any(one.get("fields", {}).get("validation_error") == error for one in frames("ACK"))


def compression_garbled_message_reported__garbled_delivered() -> str:
    unpacked = [one.get("meta", {}).get("unpacked_bytes") for one in frames("MESSAGE", "b2c")]
    came = sum(len(handle.messages) for handle in HANDLES.values())
    good = sum(size is None for size in unpacked)
    return f"{came} messages were delivered, and {good} can be decompressed" if came > good else ""


def compression_garbled_message_reported__not_reported() -> str:
    return "" if _reported("DecompressionError") else "no ACK with DecompressionError"


def robustness_bad_batch_reported__not_reported() -> str:
    return "" if _reported("BatchDeSerializeError") else "no ACK with BatchDeSerializeError"


def robustness_operations_end__operation_never_ended() -> str:
    stuck = [one for one in CALLS if one.took_s is None]
    return f"{len(stuck)} calls have not ended, the first is {stuck[0]}" if stuck else ""


def resend_terminated_fails_all__left_pending() -> str:
    late = [one for one in CALLS if one.what == "send_async" and one.error == str(pulsar.Result.Timeout)]
    return f"a send waited for its time-out: {late[0]}" if late else robustness_operations_end__operation_never_ended()


def resend_terminated_fails_all__comes_back() -> str:
    again = len(frames("PRODUCER")) - 2
    return f"PRODUCER was sent again after the topic was said to be terminated, {again} times" if again > 0 else ""


def resend_send_timeout__late() -> str:
    late = [one for one in CALLS if one.what == "send_async" and (one.took_s or 99) > 1.4]
    return f"send {late[0].details['number']} ended as late as this: {late[0]}" if late else ""


def resend_not_allowed_fails_one__sent_again() -> str:
    again = frames("SEND")[len(CALLS) :]
    return f"what was refused was sent again: {len(again)} SENDs too many" if again else ""


def resend_resends_spoilt_on_the_way__failed() -> str:
    failed = [one for one in CALLS if one.what == "send_async" and one.error]
    return f"a send failed: {failed[0]}" if failed else ""


def producer_close_settles_pending__failed_though_stored() -> str:
    receipts = len(frames("SEND_RECEIPT", "b2c"))
    failed = [one for one in CALLS if one.what == "send_async" and one.error == str(pulsar.Result.AlreadyClosed)]
    return f"{receipts} receipts came, and {len(failed)} sends failed" if receipts and failed else ""


def flow_permits_within_queue__more_than_the_queue() -> str:
    last = max(one["conn"] for one in frames("FLOW"))
    granted = [one["permits"] for one in frames("FLOW") if one["conn"] == last]
    return f"FLOW of {granted} on a connection where one message had come" if granted[1:2] and granted[1] > 5 else ""


def flow_filtered_earn_nothing__permits_for_filtered() -> str:
    return flow_permits_within_queue__more_than_the_queue()


def batching_keyed_entry_tells_highest_id__other_highest() -> str:
    for one in frames("SEND"):
        highest = max((member.get("sequence_id") or 0 for member in one.get("members", ())), default=0)
        if highest > max(one["sequence_id"], one.get("highest_sequence_id") or 0):
            return f"SEND by sequence_id {one['sequence_id']} with sequence id {highest} inside, which it does not tell"
    return ""


def nack_steady_refusals__postponed() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    refused = [one for one in CALLS if one.what == "negative_acknowledge"]
    if asked and asked[0]["t_ns"] / 1e9 - frames("MESSAGE", "b2c")[0]["t_ns"] / 1e9 < 0.5:
        return ""
    return f"{len(refused)} refusals 50 ms apart, and the first was asked for again only when they had ended"


def ack_kept_while_away__lost_while_away() -> str:
    acked = {tuple(id[:2]) for one in frames("ACK") for id in one.get("ids", ())}
    taken = {(m.message_id().ledger_id(), m.message_id().entry_id()) for h in HANDLES.values() for m in h.messages}
    return f"no ACK of {sorted(taken - acked)}, which the application acknowledged" if taken - acked else ""


def ack_timeout_ended_by_ack__chunk_left_out() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    ids = asked[0].get("ids", []) if asked else []
    return f"a message in three chunks was asked for again by {ids}" if len(ids) == 1 else ""


def seek_forgets_what_was_before__acked_behind_seek() -> str:
    behind = [one for one in frames("ACK") if one["seq"] > frames("SEEK")[0]["seq"]]
    return f"ACK of {behind[0].get('ids')} left behind the SEEK" if behind else ""


def connection_limit_of_each__sent_too_large() -> str:
    large = [one["members"][0]["size"] for one in frames("SEND") if one["conn"] == 0 and one.get("members")]
    return f"a message of {max(large)} bytes left to the broker that takes 2000" if max(large, default=0) > 2000 else ""


def _lost() -> str:
    stored = {member["digest"] for one in ask("events") if one["kind"] == "stored" for member in one["members"]}
    for one in frames("SEND"):
        for member in one.get("members", ()):
            if member["digest"] not in stored:
                return f"SEND of sequence_id {one['sequence_id']} was answered, and its message is not stored"
    return ""


def dedup_effectively_once__lost() -> str:
    return _lost()


def delivery_ok_is_stored__not_stored() -> str:
    return _lost()
