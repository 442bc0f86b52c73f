"""Groups of commands whose modules are imported when a command of them is run or listed."""

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group
from typer.models import CommandInfo

Source = str | typer.Typer
"""A command as `module:function` below `deployments.cli`, or a group within the group."""

_WIDEST = 100
"""The widest help, in columns."""


class _Commands(Mapping[str, Any]):
    """The commands of a group by name; one is made the first time it is looked up."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, self._sources[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The base of typer's errors of usage, which has no public name."""


class _Command(TyperCommand):
    """A command that refuses an option given twice, of which click would take the last alone.

    A function with an attribute `on_usage_error` is called with what cannot be read, the values of
    the options and the other arguments, as far as they can be told.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            return self._parsed(ctx, args)
        except USAGE_ERROR as error:
            if on_error := getattr(self.callback, "on_usage_error", None):
                on_error(cast("Any", error).format_message(), *self._told(typed))
            raise

    def _parsed(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option, count in Counter[Any](order).items():
            if count > 1 and not option.multiple and not getattr(option, "count", False):
                raise typer.BadParameter("it is given more than once.", ctx, option)
        return super().parse_args(ctx, args)

    def _told(self, args: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
        """Return the values of each known option, and the arguments that are none's value.

        What follows an unknown option is among these: it may be its value.
        """
        takes = {
            name
            for option in self.params
            if not getattr(option, "is_flag", False)
            for name in option.opts
            if name.startswith("-")
        }
        options: dict[str, list[str]] = {}
        others: list[str] = []
        left = iter(args)
        for arg in left:
            name, equals, value = arg.partition("=")
            if name in takes:
                options.setdefault(name, []).extend([value] if equals else islice(left, 1))
            elif arg.startswith("-"):
                options.setdefault(name, [])
            else:
                others.append(arg)
        return options, others


def _made(name: str, source: Source) -> Any:
    if isinstance(source, typer.Typer):
        group = get_group(source)
        group.name = name
        return group
    # Plain help: rich's would import its Markdown reader and highlighter, half of `--help`.
    return get_command_from_info(
        CommandInfo(name, cls=_Command, callback=_function(source)),
        pretty_exceptions_short=True,
        rich_markup_mode=None,
    )


def _function(source: str) -> Any:
    module, _, name = source.partition(":")
    return getattr(import_module(f"deployments.cli.{module}"), name)


def _sentence(source: Source) -> str:
    if isinstance(source, typer.Typer):
        return str(source.info.help)
    return (inspect.getdoc(_function(source)) or "").partition("\n\n")[0]


def group(commands: Mapping[str, Source], **about: Any) -> typer.Typer:
    """Return a group of these commands; `about` are arguments of `typer.Typer`, such as `help`."""

    class LazyCommandGroup(TyperGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**{**given, "commands": _Commands(commands)})

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write the sentence of each command, whole; options are not made for that."""
            with formatter.section("Commands"):
                formatter.write_dl([(name, _sentence(one)) for name, one in commands.items()])

    made = typer.Typer(
        cls=LazyCommandGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": _WIDEST},
        **about,
    )
    made.callback()(_nothing)
    return made


def _nothing() -> None:
    # typer makes a group of what has a callback, and of nothing without commands of its own.
    return None
