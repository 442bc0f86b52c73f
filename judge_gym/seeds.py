"""Seeds and keys: every random choice comes from the natural key of what it randomises.

SHA-256 of the key, never Python's `hash`, so two runs on two machines draw the same.
"""

import hashlib
import json
import random
from typing import Any

# `json.dumps` makes an encoder for each call that has options.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(*parts: object) -> str:
    """Return a 16-hex-digit digest of the parts, stable across machines and versions.

    Parts are joined through JSON, so ("a", "bc") and ("ab", "c") differ.
    """
    return _sha256(parts).hex()[:16]


def sha256(*parts: object) -> str:
    """Return all 64 hex digits of the digest, for what must not collide."""
    return _sha256(parts).hex()


def derive_seed(*parts: object) -> int:
    """Return a seed in [0, 2**63) derived from the natural key `parts`."""
    return int.from_bytes(_sha256(parts)[:8], "big") >> 1


def generator(*parts: object) -> random.Random:
    """Return a generator seeded by the natural key `parts`."""
    return random.Random(derive_seed(*parts))


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted keys, no spaces, non-ASCII kept."""
    return _CANONICAL.encode(value)


def _sha256(parts: tuple[object, ...]) -> bytes:
    return hashlib.sha256(canonical_json(list(parts)).encode()).digest()
