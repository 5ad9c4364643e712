"""Ledgers: what a run too large for one history leaves behind, as rows of narrow integers; and the rules on rows.

A ledger holds what the application asked for (`attempt`) and heard (`outcome`), what each subscription was given
(`delivery`) and said about it (`ack`), what the broker holds (`stored`), and when faults acted (`epoch`). The tables
are described in `tables`, one value of each in `rows`. Where the rows come from, and who reads them, is not known here:
a history becomes rows, a Parquet file becomes rows, and the same rules judge both.
"""
