"""Recorded judgements of others: the mapping of a file's columns, and reading it; values only."""
