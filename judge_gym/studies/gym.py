"""Gym: what candidates for one step of a pipeline make of every case, as a judge scores it."""

from judge_gym.gyms.evaluating import GymReport, LoadedGym, plan, read_report
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.report.gym import gym_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def gym(loaded: LoadedGym) -> Study[GymReport]:
    """Return the study of a gym that `read_gym` read."""

    def report(runtime: Runtime) -> StudyReport[GymReport]:
        return gym_report(read_report(runtime, loaded))

    return Study(
        noun="gym",
        called=f"Gym {loaded.gym.name}",
        read=loaded.labels,
        asked=[Asked(loaded.judge, [])],
        report=report,
        partial=True,
        also_asked=[model for one in loaded.gym.candidates for model in one.asks or ()],
        uses=lambda runtime: plan(runtime, loaded),
        also_locks={"gyms": [loaded.gym.name]},
    )
