"""What a test run does not take over from the shell that starts it: keys, servers, settings."""

import os

OF_A_USER = ("JUDGE_GYM_", "PREFECT_", "OPENAI_", "ANTHROPIC_", "LOCAL_", "FIRECRAWL_")
"""How the names of their variables begin."""
OF_TESTS = "JUDGE_GYM_TEST_"
OF_A_TERMINAL = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Some CI services set them; what is printed would have other characters."""


def forget() -> None:
    """Take these variables out of the environment."""
    for name in list(os.environ):
        of_a_user = name.startswith(OF_A_USER) and not name.startswith(OF_TESTS)
        if of_a_user or name in OF_A_TERMINAL:
            del os.environ[name]
