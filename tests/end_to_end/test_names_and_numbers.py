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
    assert "Did you mean valmora? Known: 1 (valmora)." in unknown.errors

    file.write_text(small_sweep("two", "sim/calm-1", ("max_documents: 2", "max_documents: 3")))
    command("evidence", "create", file).fine()
    ambiguous = command("evidence", "show", "valmora")
    assert ambiguous.code == 1
    assert "There are 2 windows 'valmora'." in ambiguous.errors
    assert "Name one by its number: 1, 2." in ambiguous.errors


def test_an_experiment_is_shown_by_tag_and_by_number(command: CommandLine) -> None:
    file = command.folder / "one.yaml"
    file.write_text(
        small_sweep(
            "one",
            "sim/calm-1",
            ("replicates: 2", "replicates: 2\n    prompt_order: [rubric_first, evidence_first]"),
        )
    )
    tags = command("sweep", "create", file).fine().output.split()
    shown = command("analyse", "experiments", "show", "2").fine().output
    assert command("analyse", "experiments", "show", tags[1]).fine().output == shown

    unknown = command("analyse", "experiments", "show", tags[1][:-1])
    assert (unknown.code, f"Did you mean {tags[1]}?" in unknown.errors) == (1, True)

    listed = command("analyse", "experiments", "list", "--sweep", file).fine().output
    assert listed.startswith("2 experiments ")
    assert all(
        words in listed
        for words in (*tags, "prompt_order=rubric_first", "prompt_order=evidence_first")
    )
    for option, name, close in (("--sweep", "ones", "one"), ("--model", "sim/calm", "sim/calm-1")):
        refused = command("analyse", "experiments", "list", option, name)
        assert (refused.code, f"Did you mean {close}?" in refused.errors) == (1, True)


def test_a_sweep_that_is_not_stored_may_have_just_started(command: CommandLine) -> None:
    for options in ((), ("--watch",)):
        ended = command("sweep", "status", "one", *options)
        assert ended.code == 1
        assert "There is no sweep 'one'." in ended.errors
        assert "A run that has just started may not be stored yet" in ended.errors


def test_a_class_of_failure_that_there_is_not_is_refused(command: CommandLine) -> None:
    file = command.folder / "one.yaml"
    file.write_text(small_sweep("one", "sim/calm-1"))
    command("sweep", "create", file).fine()
    for verb in (("database", "clean"), ("sweep", "retry")):
        refused = command(*verb, "one", "--failure", "zzz", "--yes")
        assert refused.code == 2
        assert "There is no class of failure 'zzz'." in refused.errors
        assert "rate_limit" in refused.errors
        command(*verb, "one", "--failure", "rate_limit", "--yes").fine()
