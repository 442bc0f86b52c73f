"""The command line: what a person types, and what they read.

It stands in the topmost layer because it starts flows, and the library knows nothing of flows.
Commands import what they need when they run, so that `--help` answers at once.
"""
