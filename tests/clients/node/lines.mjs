// What the client programs share: packages that stand outside the checkout, and a line of JSON in
// for a line of JSON out.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// NODE_PACKAGES is the folder that scripts/node-env prints.
export const packages = createRequire(join(process.env.NODE_PACKAGES, 'none.js'));

// How to reach the server, and who the client is: the only argument.
export const options = JSON.parse(process.argv[2]);

// Does each step that is read by the function of its name, and answers `{ok}` or `{error}`. When there
// are no more, it closes the client and ends.
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

// The client's own model: says what it is told to, and remembers what it was asked.
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

// The steps that both generations of the SDK do alike.
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

// A call's answer with the progress that was told before it.
export async function withProgress(call) {
  const progress = [];
  const result = await call((told) => progress.push(told));
  return { result, progress };
}
