"""A judge of judge-gym as a plain function: python plain_function.py."""

from judge_gym.integrations import scoring_function

score = scoring_function("deployments/judges/notes.yaml")
for text in ("Bread rose by 4% in May: buy now.", "Bread is bread."):
    print(f"{score(text):.1f}  {text}")
