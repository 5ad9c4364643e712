"""Histories as ledgers: the events of one attempt become rows, and the rules on rows judge them like any others.

The rows are what producers' and consumers' applications asked for and heard, what was stored, and when something was
done to the run; all by the bench's clock. What rows cannot say is left out, so that no rule can be wrong about it:

* bursts (their single messages are not in a history), non-persistent topics, payloads that cannot be distinguished;
* messages that a fault forged, changed, or took out of the middle of a stream; outcomes where answers were forged;
* messages in chunks that a consumer may give up, as its settings say, and settle unread;
* subscriptions that seek, read what is compacted, send letters, or leave: of these only the content is judged;
* subscriptions that came late, that do not end with an empty backlog, or whose messages may go away: nothing is
  missing there (`whole` is 0).
"""

from assay_conformance.ledger.from_history.transcript import Transcript, transcribe

__all__ = ["Transcript", "transcribe"]
