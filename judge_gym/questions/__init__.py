"""Agents: render a prompt, and parse its answer.

Pure functions over values: no database, no client, no raw settings. An agent reads resolved
strategies. The caller sends the prompt and stores the outcome.
"""
