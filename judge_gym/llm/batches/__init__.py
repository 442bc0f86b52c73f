"""Batches: calls that go to a provider as a file and come back within a day.

`policy` says how many go, `lines` is what stands in the files, `rows` is what stands in the
database, and `desk` does it, so that a client can be killed at any moment and nothing is sent or
lost twice (docs/decisions/0008-batches.md).
"""
