"""Rolling windows: which of a file's windows a collection still lacks."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.design.window_files import Period, RollingFile, windows_of
from judge_gym.store.windows import collected_before, register_window


def plan_collection(
    session: Session, file: RollingFile, periods: Sequence[Period]
) -> tuple[list[int], int]:
    """Store the windows that were not collected yet; returns their ids, oldest first, and the
    number of those that were."""
    windows = [window for period in periods for window in windows_of(file, period)]
    missing = [window for window in windows if not collected_before(session, window)]
    ids = [register_window(session, window) for window in missing]
    return list(dict.fromkeys(ids)), len(windows) - len(missing)
