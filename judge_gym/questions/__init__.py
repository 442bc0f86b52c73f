"""Agents: what is asked of a model and how its answer is read. Render and parse, nothing else.

Pure functions over values: no database, no client, no raw settings. An agent reads resolved
strategies; whoever runs it sends the prompt and keeps the outcome.
"""
