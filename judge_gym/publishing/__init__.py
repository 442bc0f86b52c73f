"""Replication packages: everything behind a sweep's figures in one folder, and its check.

- `package`: publish a sweep; `manifest`: the digests of a package's files
- `replicating`: recompute the figures of a package in a clean place
- `origins`: the code, environment and prompts that a package names
- `reanalyse.py`: a script for every package, with numpy alone; it imports nothing of judge-gym
"""
