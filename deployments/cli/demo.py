"""`judge-gym demo`: the whole of judge-gym on simulated judges, without a key."""

from pathlib import Path

from deployments.cli.options import Everything

DEMO = Path(__file__).parents[1] / "sweeps" / "demo.yaml"


def demo(everything: Everything = False) -> None:
    """Run the demo sweep on the simulator, print its headlines and write its report."""
    from deployments.cli.results import show_results
    from deployments.cli.running import run_sweep

    run_id = run_sweep(DEMO)
    assert run_id is not None  # all of it was run
    show_results(run_id, next_file=DEMO, everything=everything)
