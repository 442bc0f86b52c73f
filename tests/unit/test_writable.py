"""Files that are to be written are tried before anything is spent."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.writable import check_writable


def test_a_file_that_can_be_written_stays_as_it_is(tmp_path: Path) -> None:
    new, old = tmp_path / "made" / "new.svg", tmp_path / "old.svg"
    old.write_text("kept")
    for file in (new, old, None):
        check_writable("--picture", file)
    assert (old.read_text(), [*new.parent.iterdir()]) == ("kept", [])


@pytest.mark.parametrize("place", ["", "old/x", "/proc/x.svg", "/proc/none/x.svg", "/proc/version"])
def test_one_that_cannot_is_refused_by_option_path_and_reason(tmp_path: Path, place: str) -> None:
    (tmp_path / "old").write_text("a file")
    file = tmp_path / place
    with pytest.raises(ConfigError, match=r"--picture is .*: it ") as refused:
        check_writable("--picture", file)
    assert str(file) in str(refused.value)
