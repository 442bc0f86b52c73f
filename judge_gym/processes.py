"""Processes of this machine, by their number."""

import os


def exists(pid: int) -> bool:
    """Whether there is a process of this number, whoever runs it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
