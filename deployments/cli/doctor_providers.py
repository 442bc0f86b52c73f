"""Whether the providers that are used answer: asked for their models, which costs nothing.

Only APIs of OpenAI's form are asked. Of the others, and beside that, the ledger says whether the
newest calls failed.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from deployments.cli.doctor_lines import DoctorLine, State
from deployments.cli.environment import database
from judge_gym.answers.readability import remedy_of, shortened
from judge_gym.counting import counted
from judge_gym.errors import JudgeGymError, first_line, masked
from judge_gym.model_names import is_simulated_provider

if TYPE_CHECKING:
    from judge_gym.llm.providers import Provider, Providers

OPENAI = "https://api.openai.com/v1"
ANSWER_S = 10.0
"""Seconds in which a provider must answer."""
LATELY = timedelta(minutes=5)
"""How long a limit that was lowered by refusals is a finding."""


def provider_lines(
    providers: "Providers", users: dict[str, str], blocks: set[str]
) -> Iterator[DoctorLine]:
    """Yield whether each provider in `users` answers, and what its newest calls came to.

    `blocks` are the variables of keys that Secret blocks hold.
    """
    used = [one for name, one in providers.by_name.items() if name in users]
    real = [one for one in used if not is_simulated_provider(one.name)]
    for provider in real:
        if line := asyncio.run(_asked(provider, in_block=provider.key_env in blocks)):
            yield line
    yield from _of_the_ledger(providers)


async def _asked(provider: "Provider", *, in_block: bool) -> DoctorLine | None:
    """Ask a provider for its models; None where that cannot be asked."""
    import httpx

    from judge_gym.llm.keys import Keys
    from tasks.runtime import secret_block

    of_openai = (provider.litellm or provider.name) == "openai"
    address = provider.address() or (OPENAI if provider.name == "openai" else "")
    if not of_openai or not address:
        return None
    try:
        key = await Keys(secret_block if in_block else None).of(provider)
    except JudgeGymError:
        return None  # the check of keys says so
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"}
    subject, shown = f"provider {provider.name}", masked(address)
    try:
        async with httpx.AsyncClient(timeout=ANSWER_S) as client:
            answer = await client.get(f"{address.rstrip('/')}/models", headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = first_line(error) or type(error).__name__
        detail = f"{shown} does not answer: {reason}"
        return DoctorLine(subject, detail, remedy_of("unreachable"), State.BROKEN)
    return _line(provider, answer.status_code, shown)


def _line(provider: "Provider", status: int, shown: str) -> DoctorLine:
    subject = f"provider {provider.name}"
    if status in (401, 403):
        remedy = (
            f"Renew {provider.key_env}, in the environment of the workers or as the Secret block."
        )
        detail = f"{shown} refuses the key (HTTP {status}): it may have expired"
        return DoctorLine(subject, detail, remedy, State.BROKEN)
    if status == 429:
        detail = f"{shown} refuses requests for now (HTTP 429)"
        return DoctorLine(subject, detail, _SLOWER, State.MISSING)
    if status >= 500:
        detail = f"{shown} fails requests (HTTP {status})"
        return DoctorLine(subject, detail, remedy_of("server"), State.BROKEN)
    return DoctorLine(subject, f"{shown} answers")


_SLOWER = (
    "Runs slow down by themselves and resume; if it lasts, lower requests_per_minute in the "
    "providers file."
)


def _of_the_ledger(providers: "Providers") -> Iterator[DoctorLine]:
    """Yield providers whose newest calls failed, and those that lately refused for their limits."""
    from judge_gym.store.failing import failing_providers
    from judge_gym.store.progress import lowered_limits

    now = datetime.now(UTC)
    try:
        with database() as session:
            failing = failing_providers(session, now)
            lowered = lowered_limits(session, list(providers.by_name), now)
    except JudgeGymError:
        return  # the check of the database says so
    for one in failing:
        detail = (
            f"the last {counted(one.failures, 'call')} failed, since {one.since:%H:%M:%S} UTC: "
            f"{shortened(f'{one.kind}: {one.message}')}"
        )
        yield DoctorLine(f"calls to {one.provider}", detail, remedy_of(one.kind), State.BROKEN)
    for name in sorted({one.provider for one in lowered if one.at > now - LATELY}):
        of_it = [one for one in lowered if one.provider == name and one.at > now - LATELY]
        since = min(one.at for one in of_it)
        detail = (
            f"refused requests for its limit (HTTP 429) since {since:%H:%M:%S} UTC; "
            f"{counted(len(of_it), 'process')} slowed down"
        )
        yield DoctorLine(f"provider {name}", detail, _SLOWER, State.MISSING)
