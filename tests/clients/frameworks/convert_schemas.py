"""Converts tools as google-genai and openai-agents do before they send them to a model.

Reads lists of tools by name, as JSON, from standard input; prints, for each tool of each list, the declaration
that Gemini gets and the schema that OpenAI gets, with whether it is strict.
"""

import copy
import json
import sys
from typing import Any

import mcp  # noqa: F401  google-genai looks whether it is loaded.
from agents.mcp import MCPServerStdio, MCPUtil
from agents.strict_schema import ensure_strict_json_schema
from google.genai._mcp_utils import mcp_to_gemini_tools
from mcp.types import Tool


def converted(listed: dict[str, Any]) -> dict[str, Any]:
    tool = Tool.model_validate(listed)
    (gemini,) = mcp_to_gemini_tools([tool])
    (declaration,) = gemini.function_declarations
    openai = MCPUtil.to_function_tool(tool, MCPServerStdio(params={"command": "none"}), convert_schemas_to_strict=True)
    return {
        "gemini": declaration.model_dump(mode="json", exclude_none=True),
        "openai": {"parameters": openai.params_json_schema, "strict": openai.strict_json_schema},
        "strict": ensure_strict_json_schema(copy.deepcopy(listed["inputSchema"])),
    }


lists: dict[str, list[dict[str, Any]]] = json.load(sys.stdin)
print(json.dumps({name: {tool["name"]: converted(tool) for tool in tools} for name, tools in lists.items()}))
