"""`judge-gym demo`: the whole of judge-gym on simulated judges, without a key."""

from pathlib import Path

from deployments.cli.output import console

DEMO = Path(__file__).parents[1] / "sweeps" / "demo.yaml"


def demo() -> None:
    """Run the demo sweep on the simulator, print its tables and write its report."""
    from deployments.cli.results import show_results
    from deployments.cli.running import run_sweep

    console.print("The judges are simulated: these figures show judge-gym at work, not findings.\n")
    run_id = run_sweep(DEMO)
    assert run_id is not None  # all of it was run
    show_results(run_id, next_file=DEMO)
