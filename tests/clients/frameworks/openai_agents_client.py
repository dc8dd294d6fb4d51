"""An agent of openai-agents, with its strict schemas, makes the scripted calls; see scripted_call.py."""

import asyncio
from typing import Any

from agents import Agent, RunConfig, Runner
from agents.mcp import MCPServerStdio
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from scripted_call import PATIENCE_SECONDS, next_call, options, report

STEPS = 4


def results_in(call: ModelCall) -> list[str]:
    items = call.input if isinstance(call.input, list) else []
    return [text_of(item["output"]) for item in items if item.get("type") == "function_call_output"]


def text_of(output: Any) -> str:
    blocks = output if isinstance(output, list) else [output]
    return "\n".join(block if isinstance(block, str) else block["text"] for block in blocks)


async def main() -> None:
    seen: list[ModelCall] = []

    def respond(call: ModelCall) -> ModelStep:
        seen.append(call)
        results = results_in(call)
        if (following := next_call(results)) is None:
            return ModelStep(output=[assistant_message("Done.")])
        name, arguments = following
        return ModelStep(output=[function_call(name, arguments, call_id=f"call-{len(results)}")])

    model = ScriptedModel([ModelStep.respond(respond) for _ in range(STEPS)])
    server = MCPServerStdio(params=options(), client_session_timeout_seconds=PATIENCE_SECONDS)
    async with server:
        agent = Agent(
            name="scripted", model=model, mcp_servers=[server], mcp_config={"convert_schemas_to_strict": True}
        )
        await Runner.run(agent, "Go on.", run_config=RunConfig(tracing_disabled=True))
    report([tool.name for tool in seen[0].tools], results_in(seen[-1]))


asyncio.run(main())
