"""Recorded judgements of others: their mapping file, and reading a data file by it.

Values only; `lab.importing` stores them.
"""
