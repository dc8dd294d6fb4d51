"""Measures reasoning_auto with a real model on 200 prompts in eight languages. Run it by hand:

    DELIBERATE_BASE_URL=http://127.0.0.1:8080/v1 DELIBERATE_MODEL=NAME python3 tests/clients/measure_routing.py

DELIBERATE_BIN names the server (default: target/debug/deliberate). `--limit N` measures N prompts of
each language, `--parallel N` sets how many calls run at once (default 4), and `--results FILE` keeps
each answer, so that a measurement that was interrupted goes on.

A prompt of the data file lists its acceptable modes. Linear is acceptable beside direct for a plain
fact, and beside reflection for an argument that is right or wrong; tree and graph are both acceptable
for choices and plans of many parts.
"""

import argparse
import collections
import json
import os
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = ROOT / "crates/reasoning/tests/data/routing_prompts.jsonl"
PATIENCE_MS = "900000"


class Server:
    """The server over stdio; calls may overlap."""

    def __init__(self, home: str) -> None:
        settings = {
            "HOME": home,
            "DATABASE_PATH": f"{home}/reasoning.db",
            "DELIBERATE_PROVIDER": "openai",
            "OPENAI_BASE_URL": os.environ["DELIBERATE_BASE_URL"],
            "REQUEST_TIMEOUT_MS": PATIENCE_MS,
            "DELIBERATE_LIMITS_CALL_TIMEOUT_MS": PATIENCE_MS,
            "DELIBERATE_LIMITS_ANSWER_WITHIN_MS": PATIENCE_MS,
        }
        program = os.environ.get("DELIBERATE_BIN", str(ROOT / "target/debug/deliberate"))
        self.process = subprocess.Popen(
            [program, "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | settings,
            text=True,
            encoding="utf-8",
        )
        self.lock = threading.Lock()
        self.answers: dict[int, dict] = {}
        self.arrived = threading.Condition(self.lock)
        self.last_id = 0
        threading.Thread(target=self.read, daemon=True).start()
        client = {"name": "measure", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self) -> None:
        for line in self.process.stdout:
            message = json.loads(line)
            with self.lock:
                if "id" in message and "method" not in message:
                    self.answers[message["id"]] = message
                    self.arrived.notify_all()

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict) -> dict:
        with self.lock:
            self.last_id += 1
            own = self.last_id
            self.send({"jsonrpc": "2.0", "id": own, "method": method, "params": params})
            self.arrived.wait_for(lambda: own in self.answers)
            return self.answers.pop(own)

    def call(self, tool: str, **arguments: object) -> dict:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {})
        return result.get("structuredContent") or {"error": answer}


def route(server: Server, prompt: dict) -> dict:
    arguments = {"content": prompt["content"]}
    if "hints" in prompt:
        arguments["hints"] = prompt["hints"]
    if prompt.get("checkpoint"):
        # A graph begins a session without a model.
        session = server.call("reasoning_got_init", content="A first try.")["session_id"]
        server.call("reasoning_checkpoint_create", session_id=session, name="start")
        arguments["session_id"] = session
    return server.call("reasoning_auto", **arguments)


def measured(server: Server, prompts: list[dict], parallel: int, results: Path | None) -> list[tuple[dict, dict]]:
    known: dict[str, dict] = {}
    if results and results.exists():
        known = {it["content"]: it["answer"] for it in map(json.loads, results.read_text("utf-8").splitlines())}

    def one(prompt: dict) -> tuple[dict, dict]:
        content = prompt["content"]
        if content not in known:
            answer = route(server, prompt)
            if results and "error" not in answer:
                line = json.dumps({"content": content, "answer": answer}, ensure_ascii=False)
                with server.lock, results.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
            known[content] = answer
        return prompt, known[content]

    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(one, prompts))


def share(pairs: list[tuple[dict, dict]]) -> str:
    good = sum(answer.get("recommended_mode") in prompt["acceptable"] for prompt, answer in pairs)
    return f"{good} of {len(pairs)} ({100 * good / max(1, len(pairs)):.0f} %)"


def report(pairs: list[tuple[dict, dict]]) -> None:
    print(f"acceptable: {share(pairs)}")
    print(f"explicit requests: {share([it for it in pairs if it[0].get('explicit')])}")
    for decider in ["rules", "router", "default", None]:
        decided = [it for it in pairs if it[1].get("decided_by") == decider]
        if decided:
            print(f"decided by {decider or 'nobody (an error)'}: {share(decided)}")
    for language in dict.fromkeys(prompt["language"] for prompt, _ in pairs):
        print(f"{language}: {share([it for it in pairs if it[0]['language'] == language])}")
    confused = collections.Counter(
        ("/".join(prompt["acceptable"]), answer.get("recommended_mode")) for prompt, answer in pairs
    )
    print("\nacceptable -> chosen")
    for (wanted, chosen), count in sorted(confused.items(), key=str):
        print(f"{count:4}  {wanted} -> {chosen}")
    print("\nnot acceptable")
    for prompt, answer in pairs:
        if answer.get("recommended_mode") not in prompt["acceptable"]:
            why = answer.get("rationale", answer.get("error"))
            print(f"{prompt['language']} {answer.get('recommended_mode')}: {prompt['content'][:80]} | {why}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int)
    options.add_argument("--parallel", type=int, default=4)
    options.add_argument("--results", type=Path)
    chosen = options.parse_args()
    prompts = [json.loads(line) for line in PROMPTS.read_text("utf-8").splitlines()]
    if chosen.limit:
        seen: collections.Counter = collections.Counter()
        prompts = [it for it in prompts if seen.update([it["language"]]) or seen[it["language"]] <= chosen.limit]
    with tempfile.TemporaryDirectory() as home:
        server = Server(home)
        try:
            report(measured(server, prompts, chosen.parallel, chosen.results))
        finally:
            server.process.terminate()
            server.process.wait()


if __name__ == "__main__":
    main()
