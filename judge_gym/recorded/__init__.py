"""Judgements that others recorded: what a mapping file says of theirs, and reading them by it.

Values only; `workflows.importing` stores them.
"""
