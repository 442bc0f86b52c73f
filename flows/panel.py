"""Panel: several raters review a document, and an arbiter says what they come to."""

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.endings import resumable
from flows.forms import File, file_run_name
from judge_gym.panel import PanelState, load_document, load_panel
from judge_gym.panel.state import failure_of
from tasks.events import emit_failure, served_models_followed
from tasks.judges import review_document, show_panel
from tasks.policy import declare_limits, provider_tag
from tasks.runtime import runtime


@flow(name="panel", flow_run_name=file_run_name("panel on"), on_failure=[emit_failure])
@resumable
async def panel(file: File, config: File) -> State[PanelState]:
    """Have a document reviewed; the state's data is the last state of the run.

    What was reviewed before is not asked again; a rater that failed is. The panel's budget, which
    stands in its file, refuses the run once it is used up.

    Args:
        file: the document, as this process sees it.
        config: the panel file.
    """
    loaded = load_panel(config)
    load_document(file)  # a mistake in it is said before anything is begun
    async with runtime() as current, served_models_followed(current):
        await declare_limits()
        providers = sorted({current.providers.of(model).name for model in loaded.models})
        review = review_document.with_options(tags=[provider_tag(name) for name in providers])
        state = await review(file, config)
        await show_panel(state)
    if error := failure_of(state):
        return Failed(message=str(error), data=error)
    return Completed(message=state.summary, data=state)
