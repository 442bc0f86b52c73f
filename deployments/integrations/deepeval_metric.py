"""A judge of judge-gym as a metric of DeepEval: python deepeval_metric.py."""

from deepeval.test_case import LLMTestCase

from judge_gym.integrations.deepeval import JudgeMetric

metric = JudgeMetric("deployments/judges/notes.yaml", threshold=0.2)
case = LLMTestCase(input="The price of bread", actual_output="Bread rose by 4% in May: buy now.")
print(f"score {metric.measure(case):.2f}, passed: {metric.is_successful()}")
