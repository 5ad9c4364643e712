"""Ledgers as files: Parquet parts, what fills them, and what is wrong with them.

`layout` writes, `opening` reads and refuses, `ingest` turns segments into parts, `mapping` a user's own logs, `synth`
makes them up. Needs the extra `spark`: pyarrow and numpy are imported when one of these modules is.
"""
