"""Makes annotations.json with AlpacaEval itself: `python make_alpaca.py FOLDER BASE_URL`."""

import json
import os
import sys
from pathlib import Path

ITEMS = json.loads((Path(__file__).parent / "answers.json").read_text())
PROMPT = (
    "<|im_start|>user\nWhich output answers better? {instruction}\n"
    "###first\n{output_1}\n###second\n{output_2}\n###\n<|im_end|>\n"
)
CONFIG = """\
{model}:
  prompt_template: {prompt}
  fn_completions: openai_completions
  completions_kwargs: {{model_name: {model}, max_tokens: 10}}
  fn_completion_parser: regex_parser
  completion_parser_kwargs:
    outputs_to_match: {{1: 'Output \\(a\\)', 2: 'Output \\(b\\)', 1.5: Neither}}
  batch_size: 1
"""


def main(folder: Path, base_url: str) -> None:
    """Annotate the first answers against the second by two annotators."""
    os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": base_url}
    from alpaca_eval.annotators import PairwiseAnnotator

    (folder / "prompt.txt").write_text(PROMPT)
    outputs = [
        [
            {"instruction": item["question"], "output": item["answers"][place], "generator": name}
            for item in ITEMS
        ]
        for place, name in enumerate(("cook", "writer"))
    ]
    annotations = []
    for model in ("strict", "lenient"):
        (folder / "configs.yaml").write_text(
            CONFIG.format(model=model, prompt=folder / "prompt.txt")
        )
        annotator = PairwiseAnnotator(
            annotators_config=str(folder / "configs.yaml"), caching_path=None, seed=1
        )
        annotations += annotator.annotate_head2head(*outputs)
    (folder / "annotations.json").write_text(json.dumps(annotations, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
