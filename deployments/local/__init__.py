"""The installation of `judge-gym up` on one machine: its parts, started and stopped together."""
