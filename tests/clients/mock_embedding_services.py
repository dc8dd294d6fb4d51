"""Two mock services with the usual APIs: one makes vectors out of letters, one ranks the longest
text first."""

import re
import zlib
from typing import Any

from paper_source_responses import Answer, as_json


def models(path: str, given: Any) -> Answer:
    if path == "/v1/embeddings":
        rows = [{"index": at, "embedding": vector(text, given["model"])} for at, text in enumerate(given["input"])]
        return as_json({"object": "list", "data": rows, "model": given["model"]})
    if path.endswith("/rerank"):
        lengths = [len(text) for text in given["documents"]]
        order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
        scored = [{"index": at, "relevance_score": lengths[at] / max(lengths)} for at in order]
        return as_json({"id": "1", "results": scored[: given.get("top_n")]})
    return as_json({"error": {"message": "no such page"}}, 404)


def vector(text: str, model: str) -> list[float]:
    """Counts words by their hash; the model's name ends with the number of dimensions."""
    numbers = [0.001] * int(model.rsplit("-", 1)[1])
    for word in re.findall(r"\w{4,}", text.lower()):
        numbers[zlib.crc32(word.encode()) % len(numbers)] += 1.0
    return numbers
