"""Where settings come from, which of two wins, and what is said of a wrong one."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.settings import OF_A_RUN, Layers, Settings, origins, settings_of_run

RUN, VARIABLE = ("run parameters", {"workers": 12}), ("Prefect variable", {"workers": 13})


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("environment", "file", "layers", "value", "origin"),
    [
        ("", "", (), 4, "default"),
        ("10", "", (), 10, "JUDGE_GYM_WORKERS"),
        ("10", "workers = 11", (), 11, "judge-gym.toml"),
        ("10", "workers = 11", (RUN,), 12, "run parameters"),
        ("10", "workers = 11", (RUN, VARIABLE), 13, "Prefect variable"),
        ("", "", (RUN, ("Prefect variable", {"chunk_size": 5})), 12, "run parameters"),
    ],
)
def test_the_later_source_wins_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
    environment: str,
    file: str,
    layers: Layers,
    value: int,
    origin: str,
) -> None:
    if environment:
        monkeypatch.setenv("JUDGE_GYM_WORKERS", environment)
    Path("judge-gym.toml").write_text(file)
    assert settings_of_run(layers).workers == value
    assert origins(layers)["workers"] == origin


@pytest.mark.parametrize("name", ["database_url", "data_dir", "wrokers"])
def test_places_and_unknown_names_are_no_matter_of_a_run(name: str) -> None:
    assert name not in OF_A_RUN
    with pytest.raises(ConfigError) as error:
        settings_of_run((("run parameters", {name: "secret-word"}),))
    assert f"run parameters: '{name}' cannot be set per run" in error.value.message
    assert "workers" in error.value.remedy
    assert "secret-word" not in str(error.value)


@pytest.mark.parametrize(
    ("environment", "file", "layers", "place"),
    [
        ("65", "", (), "JUDGE_GYM_WORKERS: workers is 65"),
        ("65", "# mine\nworkers = 66", (), "judge-gym.toml, line 2: workers is 66"),
        ("65", "workers = 66", (("Prefect variable", {"workers": 67}),), "Prefect variable: wor"),
    ],
)
def test_a_wrong_value_names_its_place_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, environment: str, file: str, layers: Layers, place: str
) -> None:
    monkeypatch.setenv("JUDGE_GYM_WORKERS", environment)
    Path("judge-gym.toml").write_text(file)
    with pytest.raises(ConfigError) as error:
        settings_of_run(layers)
    assert error.value.message.startswith(place)
    assert error.value.remedy == "Set workers to a whole number from 1 to 64."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('log_format = "jsn"', "log_format is jsn"),
        ('workers = "many"', "workers is many"),
        ("panel_parallel = 7", "panel_parallel is 7"),
        ('workers = "hunter2-Zq81xyz"', "workers has a value that cannot be used"),
        ('panel_token = ["word"]', "panel_token has a value that cannot be used"),
    ],
)
def test_a_wrong_value_is_shown_unless_it_may_be_a_secret(line: str, said: str) -> None:
    Path("judge-gym.toml").write_text(line)
    with pytest.raises(ConfigError) as error:
        settings_of_run(())
    assert said in error.value.message


PATHS = [name for name, field in Settings.model_fields.items() if field.annotation is Path]


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_path_is_not_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, name: str, empty: str
) -> None:
    Path("judge-gym.toml").write_text(f'{name} = "{empty}"\n')
    with pytest.raises(ConfigError, match=f"line 1: {name} is empty") as error:
        settings_of_run(())
    assert error.value.remedy == f"Set {name} to the path of a file or folder."
    Path("judge-gym.toml").write_text("")
    monkeypatch.setenv(f"JUDGE_GYM_{name.upper()}", empty)
    with pytest.raises(ConfigError, match=f"JUDGE_GYM_{name.upper()}: {name} is empty"):
        settings_of_run(())
    monkeypatch.setenv(f"JUDGE_GYM_{name.upper()}", ".")
    assert getattr(settings_of_run(()), name) == Path()


def test_several_wrong_settings_are_told_at_once() -> None:
    Path("judge-gym.toml").write_text("workers = 65\nchunk_sise = 5\n")
    with pytest.raises(ConfigError) as error:
        settings_of_run(())
    assert "line 1: workers is 65; judge-gym.toml, line 2: chunk_sise is" in error.value.message
    assert "Did you mean chunk_size?" in error.value.remedy
