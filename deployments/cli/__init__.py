"""The command line: what a person types, and what they read.

It stands in the topmost layer because it starts flows, and the library knows nothing of flows.
A module is imported when one of its commands is run or listed (`groups`), and imports what it needs
when a command runs: commands of one module differ in what they need, and help needs none of it.
"""
