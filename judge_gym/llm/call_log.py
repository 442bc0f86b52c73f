"""A log line for each call that has ended: which, of whom, and how; never what was said."""

import logging

from judge_gym.records.calls import Answer, Call, Failure

_log = logging.getLogger(__name__)


def log_end(call: Call, call_id: int, outcome: Answer | Failure, errors: int) -> None:
    """Log how a call ended after `errors` attempts in vain; a failure as a warning."""
    failed = isinstance(outcome, Failure)
    level = logging.WARNING if failed else logging.INFO
    if not _log.isEnabledFor(level):
        return
    about = {
        "call_id": call_id,
        "call_key": call.key,
        "experiment_id": call.experiment_id,
        "workflow": call.workflow,
        "agent": call.agent,
        "provider": call.model.partition("/")[0],
        "model": call.model,
        "status": "failed" if failed else "succeeded",
        "failure": outcome.kind if isinstance(outcome, Failure) else None,
        "attempts": errors + (not failed),
    }
    _log.log(level, "A call %s.", about["status"], extra=about)
