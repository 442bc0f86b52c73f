"""`judge-gym judge injection` for a real judge, up to the point where calls would be made."""

from support.command_line import CommandLine


def test_a_suite_of_ones_own_is_planned_once_an_editor_is_named(command: CommandLine) -> None:
    mine = ("judge", "injection", "--model", "openai/gpt-4.1-mini", "--plan")
    ended = command(*mine)
    assert ended.code == 3
    assert "--utility-model is not set" in ended.errors
    assert not list(command.data.glob("injection/*"))

    ended = command(*mine, "--utility-model", "openai/gpt-4.1-nano").fine()
    # 2 corpora x 4 views x 2 orders x 3 methods x 24 texts; two views are made by a model.
    assert "1152" in ended.output
    assert "96" in ended.output
    assert "without --plan" in ended.output
    assert len(list(command.data.glob("injection/*.yaml"))) == 1
