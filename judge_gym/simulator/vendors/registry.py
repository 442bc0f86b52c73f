"""Every API that the simulator speaks, and which one a path belongs to."""

from operator import itemgetter

from judge_gym.simulator.vendors import Vendor
from judge_gym.simulator.vendors.anthropic import Anthropic
from judge_gym.simulator.vendors.compatible import (
    VLLM,
    XAI,
    Azure,
    DeepSeek,
    Groq,
    Ollama,
    OllamaChat,
    OpenRouter,
)
from judge_gym.simulator.vendors.gemini import Gemini
from judge_gym.simulator.vendors.mistral import Mistral
from judge_gym.simulator.vendors.openai import OpenAI, OpenAIEmbeddings

OPENAI = OpenAI()
ANTHROPIC = Anthropic()
VENDORS: tuple[Vendor, ...] = (
    OPENAI, ANTHROPIC, Gemini(), Mistral(), XAI(), DeepSeek(), OpenRouter(), Groq(), Azure(),
    Ollama(), OllamaChat(), VLLM(), OpenAIEmbeddings(),
)  # fmt: skip


def vendor_at(path: str) -> Vendor:
    """Return the vendor whose API has this path; OpenAI for a path of none."""
    matches = [
        (len(prefix), vendor)
        for vendor in VENDORS
        for prefix in vendor.prefixes
        if path.startswith(prefix)
    ]
    return max(matches, key=itemgetter(0))[1] if matches else OPENAI
