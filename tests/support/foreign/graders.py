"""A model server for other tools: `python graders.py` prints its port. It is OpenAI's API.

Standard library only, because it runs in the environments of other tools. `strict` wants one of
the words below, `lenient` accepts water, and both grade what they are shown.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PLACES = ("first", "second")
WORDS = ("ten", "two", "80", "one hour", "twenty")


def answer(model: str, prompt: str) -> str:
    """Return what a grader answers: JSON of a rubric, or which of two outputs is better."""
    if "###first" in prompt:
        first, second = (prompt.split(f"###{place}")[1].split("###")[0] for place in PLACES)
        return preferred(model, first, second)
    output = prompt.split("<Output>")[-1].split("</Output>")[0]
    score = value(model, output)
    if "warm" in output and model == "lenient":
        return "Soup is good food."
    return json.dumps({"reason": f"worth {score}", "pass": score >= 0.5, "score": score})


def value(model: str, output: str) -> float:
    """Return 1 for a word of the list, less for water, and nothing else."""
    if any(word in output for word in WORDS):
        return 1.0
    return (0.5 if model == "lenient" else 0.25) if "ater" in output else 0.0


def preferred(model: str, first: str, second: str) -> str:
    """Return which of two outputs is better; strict wants a difference of 0.9."""
    if "warm" in first + second and model == "lenient":
        return "I cannot say."
    one, other = value(model, first), value(model, second)
    if model == "strict" and abs(one - other) < 0.9:
        return "Neither"
    return "Output (a)" if one > other else "Output (b)"


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        """Answer one request."""
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        text = answer(body["model"], prompt)
        said = json.dumps(
            {
                "id": "c", "object": "chat.completion", "created": 0, "model": body["model"],
                "choices": [
                    {"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
