"""Where a panel may be served, and its page: markup in names and samples stays text."""

import json
import re

import pytest
from pydantic import SecretStr

from judge_gym.errors import ConfigError
from judge_gym.panel.serving.settings import check_token, is_loopback
from judge_gym.report.panel import panel_page
from support.panels import a_document, a_panel

MARKUP = "</script><script>alert(1)</script>"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    check_token(host, None)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.1", "panel.example", "127.0.0.1.example"]
)
def test_elsewhere_a_token_is_needed(host: str) -> None:
    with pytest.raises(ConfigError, match="JUDGE_GYM_PANEL_TOKEN"):
        check_token(host, None)
    check_token(host, SecretStr("x" * 16))


def test_a_short_token_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="too short") as caught:
        check_token("127.0.0.1", SecretStr("hush"))
    assert "hush" not in str(caught.value)


def test_a_sample_full_of_markup_is_data() -> None:
    sample = a_document(text=MARKUP).model_copy(update={"title": MARKUP})
    page = panel_page(a_panel(), [sample], "n", asks_token=False)
    assert MARKUP not in page
    found = re.search(r'<script id="samples"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])[0]["items"][0]["text"] == f"{MARKUP} Item one."


def test_the_script_never_reads_text_as_markup() -> None:
    page = panel_page(a_panel(), [], "n", asks_token=False)
    for door in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", " style="):
        assert door not in page


@pytest.mark.parametrize(("provider", "marked"), [("sim", True), ("real", False)])
def test_simulated_raters_are_marked(provider: str, marked: bool) -> None:
    page = panel_page(a_panel(provider=provider), [], "n", asks_token=False)
    assert ('class="simulated"' in page) is marked
