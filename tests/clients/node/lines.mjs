// The shared part of the client programs: packages outside the checkout, and a line of JSON in for
// a line of JSON out.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// NODE_PACKAGES is the folder that scripts/node-env prints.
export const packages = createRequire(join(process.env.NODE_PACKAGES, 'none.js'));

// The only argument: how to reach the server, and the client to use.
export const options = JSON.parse(process.argv[2]);

// Runs the function of each step that is read, and answers `{ok}` or `{error}`. At the end of the
// input it closes the client and exits.
export async function answerLines(steps) {
  for await (const line of createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    let answer;
    try {
      answer = { ok: (await steps[step.do](step)) ?? null };
    } catch (error) {
      answer = { error: { name: error.name, code: error.code, message: error.message, data: error.data } };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await steps.close();
  process.exit();
}

// The client's own model: gives scripted answers and records its requests.
export class Model {
  constructor(text) {
    this.text = text;
    this.asked = [];
  }

  reply(request) {
    this.asked.push(request.params);
    const content = { type: 'text', text: this.text };
    return { role: 'assistant', content, model: 'lent', stopReason: 'endTurn' };
  }
}

// The steps that are the same in both generations of the SDK.
export function commonSteps(client, model) {
  return {
    capabilities: () => client.getServerCapabilities(),
    server: () => client.getServerVersion(),
    tools: async () => (await client.listTools()).tools,
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: ({ uri }) => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
    ping: () => client.ping(),
    asked: () => model.asked,
    close: () => client.close(),
  };
}

// Returns the answer of a call with the progress notifications before it.
export async function withProgress(call) {
  const progress = [];
  const result = await call((told) => progress.push(told));
  return { result, progress };
}
