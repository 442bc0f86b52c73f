"""Having a model change the texts of a calibration, in chunks."""

from collections.abc import Sequence

from flows.chunks import Tally, Work, run_chunks
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.judges import Item
from judge_gym.judges.calibrating.perturbing import missing
from judge_gym.judges.calibrating.texts import rewritings
from judge_gym.runtime import Runtime
from judge_gym.store.readability import of_rewritings
from tasks.judges import perturb_texts
from tasks.policy import declare_limits


async def perturb_missing(
    runtime: Runtime, originals: Sequence[Item], design: CalibrationDesign, *, retry_failed: bool
) -> Tally:
    """Have the perturber make what it has not, if the design has one."""
    if design.perturber is None:
        return Tally()
    await declare_limits()
    wanted = rewritings(originals, design)
    with runtime.session() as session:
        units = missing(session, wanted, retry_failed=retry_failed)
    provider = runtime.providers.of(design.perturber.model).name
    label = f"texts changed by {design.perturber.model}"
    work = Work(perturb_texts, provider, units, label, {"perturber": design.perturber})
    tally = await run_chunks(runtime, "changed texts", [work])
    with runtime.session() as session:
        tally.answers = of_rewritings(session, [one.key for one in wanted])
    return tally
