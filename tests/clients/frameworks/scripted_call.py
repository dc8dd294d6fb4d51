"""The calls that a model makes in every framework here, and the report of what happened.

A program of this folder gets how the server is started as its only argument, lets its framework
list the tools once, makes the calls and prints a report as one line of JSON. It runs in an
environment of its own, which has the framework and not the packages of the tests.
"""

import json
import re
import sys
from typing import Any

# Longer than any call takes on a busy machine.
PATIENCE_SECONDS = 60

# Structured data or text, depending on the framework.
ID = re.compile(r'\bid"?: "?([0-9a-f]{8}-[0-9a-f-]{27})')

Call = tuple[str, dict[str, Any]]


def options() -> dict[str, Any]:
    """Returns how the server is started: command, args, env, cwd."""
    return json.loads(sys.argv[1])


def next_call(results: list[str]) -> Call | None:
    """Returns the call that follows these results: a tool of an upstream server, a thought, and the
    reply that the thought needs. None at the end."""
    if not results:
        return "mock__echo", {"text": "as it is"}
    if len(results) == 1:
        return "reasoning_linear", {"content": "Is a virus alive?"}
    if len(results) == 2:
        (call,) = set(ID.findall(results[-1]))
        fields = {"answer": "it depends", "weakest_point": "the definition", "confidence_percent": 70}
        reply = f"It depends on the definition.\n\n{json.dumps(fields)}"
        # A list of texts, as the schema in the tool list says.
        return "reasoning_resume", {"id": call, "replies": [reply]}
    return None


def report(listed: list[str], results: list[str]) -> None:
    print(json.dumps({"listed": listed, "results": results}), flush=True)
