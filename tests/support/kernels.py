"""Subprocesses whose linear algebra runs on another kernel of OpenBLAS than this one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

NEEDS = {"Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}


def kernels() -> list[dict[str, str]]:
    """One environment for each kernel that this processor can run; as it is where none can."""
    described = Path("/proc/cpuinfo")
    flags = set(described.read_text().split()) if described.exists() else set()
    cores = [core for core, flag in NEEDS.items() if flag in flags]
    return [{**os.environ, "OPENBLAS_CORETYPE": core} for core in cores] or [dict(os.environ)]


def printed(program: str) -> list[Any]:
    """What this Python program prints as JSON, once for each kernel; nothing else is printed."""
    found = []
    for environment in kernels():
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment
        )
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
        found.append(json.loads(ended.stdout))
    return found
