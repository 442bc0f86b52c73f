"""Where a panel is served and for whom: loopback for all, elsewhere by a token only."""

import ipaddress
from dataclasses import dataclass

from pydantic import SecretStr

from judge_gym.errors import ConfigError
from judge_gym.http_guards import is_address

SHORTEST_TOKEN = 16
"""Characters."""


@dataclass(frozen=True)
class ServerLimits:
    """What one server takes on."""

    body_bytes: int = 1024 * 1024
    requests_a_minute: int = 60
    """From one address; guesses of the token count, too."""
    runs_at_once: int = 4
    body_s: float = 10.0
    """Longest time until the whole body of a request is there, in seconds."""
    allowed_hosts: tuple[str, ...] = ()
    """Names of a proxy before it, by which it is reached."""
    behind_proxy: bool = False
    """Whether the address of a request is the last in X-Forwarded-For."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def check_token(host: str, token: SecretStr | None) -> None:
    """Raise `ConfigError` when a panel may not be served at `host` with this token."""
    how = "Set JUDGE_GYM_PANEL_TOKEN to a secret of 16 characters or more"
    if token is not None and len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise ConfigError("panel_token is too short.", f"{how}.")
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"A panel at {host} needs a token: others than this machine reach it.",
            f"{how}, or leave out --host and reach it through a tunnel (ssh -L).",
        )
