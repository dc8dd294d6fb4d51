"""A chat model of LangChain that makes the scripted calls."""

import json
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from scripted_call import next_call


def results_in(messages: list[BaseMessage]) -> list[str]:
    returned = [message.content for message in messages if isinstance(message, ToolMessage)]
    return [content if isinstance(content, str) else text_of(content) for content in returned]


def text_of(blocks: list[Any]) -> str:
    return "\n".join(block if isinstance(block, str) else block.get("text", json.dumps(block)) for block in blocks)


class ScriptedChatModel(BaseChatModel):
    # The names of the tools that it was first given.
    listed: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedChatModel":
        names = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        self.listed = self.listed or names
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        results = results_in(messages)
        if (following := next_call(results)) is None:
            message = AIMessage("Done.")
        else:
            name, arguments = following
            call = {"type": "tool_call", "id": f"call-{len(results)}", "name": name, "args": arguments}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])
