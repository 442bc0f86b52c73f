"""A judge of judge-gym as a Python assertion of promptfoo.

In promptfooconfig.yaml: assert: [{type: python, value: file://promptfoo_assertion.py}]
"""

from judge_gym.integrations.promptfoo import assertion

get_assert = assertion("deployments/judges/notes.yaml", threshold=0.2)

if __name__ == "__main__":
    print(get_assert("Bread rose by 4% in May: buy now.", {"prompt": "The price of bread"}))
