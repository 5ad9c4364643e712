"""From segments to a ledger: names become numbers, every clock the run's, and rows get their certificates.

What it keeps in memory does not grow with the size of the input, but for two bits a message and consumer (had it
before, acknowledged it), and 8 bytes for a message of a stream that sends any with a time.
"""

from __future__ import annotations

from assay_reports.ledgers.ingest.ingesting import Ingest, Ingested

__all__ = ["Ingest", "Ingested"]
