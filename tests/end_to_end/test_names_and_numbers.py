"""Stored things by name or number, and values that a command does not know."""

from support.command_line import CommandLine, small_sweep


def test_a_window_is_shown_by_name_and_by_number(command: CommandLine) -> None:
    file = command.folder / "one.yaml"
    file.write_text(small_sweep("one", "sim/calm-1"))
    command("sweep", "create", file).fine()
    by_number = command("evidence", "show", "1").fine().output
    assert command("evidence", "show", "valmora").fine().output == by_number

    unknown = command("evidence", "show", "valmore")
    assert unknown.code == 1
    assert "There is no window 'valmore'." in unknown.errors
    assert "Known: 1 (valmora)." in unknown.errors

    file.write_text(small_sweep("two", "sim/calm-1", ("max_documents: 2", "max_documents: 3")))
    command("evidence", "create", file).fine()
    ambiguous = command("evidence", "show", "valmora")
    assert ambiguous.code == 1
    assert "There are 2 windows 'valmora'." in ambiguous.errors
    assert "Give the id of one: 1, 2." in ambiguous.errors

    # One experiment, and its name among those that there are.
    assert command("analyse", "experiments", "list").fine().output.startswith("1 experiment ")
    assert "Known: " in command("analyse", "experiments", "show", "nothing").errors


def test_a_class_of_failure_that_there_is_not_is_refused(command: CommandLine) -> None:
    file = command.folder / "one.yaml"
    file.write_text(small_sweep("one", "sim/calm-1"))
    command("sweep", "create", file).fine()
    for verb in (("database", "clean"), ("sweep", "retry")):
        refused = command(*verb, "one", "--failure", "zzz", "--yes")
        assert refused.code == 1
        assert "There is no class of failure 'zzz'." in refused.errors
        assert "rate_limit" in refused.errors
        command(*verb, "one", "--failure", "rate_limit", "--yes").fine()
