"""`judge-gym models check`: two small calls per model, and what they show."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, Yes
from deployments.cli.output import confirmed, console, errors, marked
from judge_gym.counting import counted
from judge_gym.formats import dollars

if TYPE_CHECKING:
    from judge_gym.llm.checking import Checked
    from judge_gym.llm.providers import Providers
    from judge_gym.records.calls import Answer, Call, Failure


def check(
    models: Annotated[
        list[str],
        typer.Argument(help="Models: provider/model.", metavar="MODEL...", show_default=False),
    ],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make two small calls per model to see what it accepts and serves.

    Prints the highest possible cost first. The calls are in the ledger like all others. Exits with
    code 1 if a call fails or an answer lacks the JSON that was asked for.
    """
    import asyncio
    from datetime import UTC, datetime

    from deployments.cli.environment import prepare_environment, simulator_for
    from judge_gym.lab.sweeps import model_warnings
    from judge_gym.llm.checking import check_calls
    from judge_gym.llm.providers import load_providers
    from judge_gym.model_names import is_simulated_model
    from judge_gym.settings import settings

    prepare_environment()
    with simulator_for(models):
        providers = load_providers(settings().providers_file)
        providers.check(set(models))
        now, chosen = datetime.now(UTC), list(dict.fromkeys(models))
        calls = [check_calls(providers, model, now) for model in chosen]
        for warning in model_warnings(providers, chosen):
            errors.warn(warning)
        if not all(map(is_simulated_model, models)):
            _show_cost(providers, calls)
            if not confirmed("Make these calls?", yes=yes):
                raise typer.Exit(1)
        checked = asyncio.run(_checked(calls))
    if as_json:
        json_output.give([_checked_json(one) for one in checked])
    else:
        for one in checked:
            _show_checked(one)
    if any(one.failed for one in checked):
        raise typer.Exit(1)


def _show_cost(providers: "Providers", calls: "Sequence[Sequence[Call]]") -> None:
    from judge_gym.asking.budgeting import highest_cost, how_to_price
    from judge_gym.llm.pricing import price_of

    total, unknown = 0.0, []
    for of_model in calls:
        model = of_model[0].model
        if price_of(providers, model) is None:
            unknown.append(model)
        total += sum(highest_cost(providers, call) for call in of_model)
    number = sum(map(len, calls))
    limit = "at an unknown cost"
    if len(unknown) < len(calls):
        limit = f"at most {dollars(total)} USD, if all the room for thinking is used"
    errors.print(
        f"{counted(number, 'call')} of a few tokens to {counted(len(calls), 'model')}: {limit}.",
        markup=False,
    )
    for model in unknown:
        errors.print(
            f"The cost of {model} is unknown: no price for this model.",
            how_to_price(providers, model),
            markup=False,
        )


@dataclass(frozen=True)
class _Check:
    """A call of a check as the ledger has it."""

    question: "Checked"
    sent: Mapping[str, Any]
    not_applied: Sequence[str]
    refusals: Sequence[str]

    @property
    def failed(self) -> bool:
        return self.question.failed


async def _checked(calls: "Sequence[Sequence[Call]]") -> list[_Check]:
    from judge_gym.llm.checking import check_model
    from judge_gym.runtime import runtime
    from judge_gym.store.calls import request_sent

    done: list[_Check] = []
    async with runtime() as current:
        for of_model in calls:
            for one in await check_model(current.gateway, of_model):
                if one.call_id is None:
                    done.append(_Check(one, {}, (), ()))
                    continue
                with current.session() as session:
                    sent = request_sent(session, one.call_id)
                done.append(_Check(one, sent.parameters, sent.not_applied, sent.refusals))
    return done


def _checked_json(one: _Check) -> dict[str, Any]:
    outcome = asdict(one.question.outcome)
    outcome.pop("chances", None)
    return {
        "model": one.question.call.model,
        "call_id": one.question.call_id,
        "failed": one.failed,
        "sent": dict(one.sent),
        "not_applied": list(one.not_applied),
        "refusals": list(one.refusals),
        "outcome": outcome,
    }


def _show_checked(one: _Check) -> None:
    from judge_gym.records.calls import Failure

    call, outcome = one.question.call, one.question.outcome
    kind = "a word" if call.parameters.json_answer is False else "a JSON object"
    simulated = not isinstance(outcome, Failure) and outcome.simulated
    console.print(f"{marked(call.model, simulated=simulated)}, asked for {kind}", markup=False)
    for subject, value in _check_lines(one, outcome):
        console.plain(f"  {subject:<12} {value}")


def _check_lines(one: _Check, outcome: "Answer | Failure") -> Iterator[tuple[str, str]]:
    from judge_gym.records.calls import Failure

    if isinstance(outcome, Failure):
        sent = one.question.call_id is not None
        yield "failed", f"{outcome.kind}: {outcome.message}" if sent else outcome.message
    else:
        seconds = "" if outcome.latency_ms is None else f" in {outcome.latency_ms / 1000:.2g} s"
        yield (
            "answer",
            f"{outcome.text.strip()[:60]!r}{seconds}, finish reason {outcome.finish_reason}",
        )
        yield "served by", outcome.served_model or "not named"
        thought = (
            f", {outcome.reasoning_tokens} of them thinking" if outcome.reasoning_tokens else ""
        )
        yield "tokens", f"{outcome.prompt_tokens} in, {outcome.completion_tokens} out{thought}"
        yield "cost", "unknown" if outcome.cost_usd is None else f"{dollars(outcome.cost_usd)} USD"
        if one.question.lacks_json:
            yield "failed", f"{_accepted_form(one)}answered without JSON"
        if one.question.call.parameters.logprobs:
            given = "given" if outcome.chances else "asked for, not given"
            yield "logprobs", given
    if one.sent:
        yield (
            "sent" if isinstance(outcome, Failure) else "accepted",
            ", ".join(
                f"{name} {value['type'] if isinstance(value, dict) else value}"
                for name, value in one.sent.items()
            ),
        )
    if one.not_applied:
        yield "not applied", ", ".join(one.not_applied)
    for message in one.refusals:
        yield "refused", message


def _accepted_form(one: _Check) -> str:
    form = one.sent.get("response_format")
    if form is None:
        return ""
    return f"accepted {'the schema' if form['type'] == 'json_schema' else 'JSON mode'} but "
