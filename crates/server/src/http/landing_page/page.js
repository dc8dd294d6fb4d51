"use strict";
const at = id => document.getElementById(id);
const address = location.origin + "/mcp";
const token = document.body.dataset.token === "yes";
const json = value => JSON.stringify(value, null, 2);
const entry = more => Object.assign(more, { url: address }, token ? { headers: { Authorization: "Bearer DELIBERATE_TOKEN" } } : {});
const configs = {
  "t-claude": ["In a terminal:", "claude mcp add --transport http deliberate " + address + (token ? ' --header "Authorization: Bearer $DELIBERATE_TOKEN"' : "")],
  "t-cursor": ["In ~/.cursor/mcp.json:", json({ mcpServers: { deliberate: entry({}) } })],
  "t-vscode": ["In .vscode/mcp.json:", json({ servers: { deliberate: entry({ type: "http" }) } })],
  "t-other": ["Streamable HTTP at:", address],
};
const tabs = [...document.querySelectorAll("[role=tab]")];
function choose(tab) {
  for (const one of tabs) {
    one.setAttribute("aria-selected", String(one === tab));
    one.tabIndex = one === tab ? 0 : -1;
  }
  at("config").setAttribute("aria-labelledby", tab.id);
  [at("place").textContent, at("text").textContent] = configs[tab.id];
}
tabs.forEach((tab, index) => {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    next.focus();
    choose(next);
  });
});
choose(tabs[0]);
at("token-note").hidden = !token;
at("copy").addEventListener("click", async () => {
  let label = "Copied";
  try {
    await navigator.clipboard.writeText(at("text").textContent);
  } catch {
    getSelection().selectAllChildren(at("text"));
    label = "Selected";
  }
  at("copy").textContent = label;
  setTimeout(() => { at("copy").textContent = "Copy"; }, 1500);
});
function show(status, facts) {
  at("word").textContent = status;
  at("status").dataset.state = { ok: "good", degraded: "warn", starting: "warn", draining: "warn" }[status] || "bad";
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}
function time(seconds) {
  const [d, h, m] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return d ? d + " d " + h + " h" : h ? h + " h " + m + " min" : m ? m + " min" : seconds + " s";
}
function healthFacts(health) {
  const facts = [["Ready", health.ready ? "yes" : "no"]];
  if (health.uptime_seconds === undefined) return facts;
  facts.push(["Up for", time(health.uptime_seconds)]);
  for (const one of health.transports) {
    if (one.state !== "off") facts.push([one.name, [one.state, one.address, one.reason].filter(Boolean).join(", ")]);
  }
  const store = health.store;
  facts.push(["Store", store.state === "ok" ? store.sessions + " sessions, " + store.thoughts + " thoughts" : store.reason]);
  facts.push(["Model", health.provider.description]);
  facts.push(["Calls", health.calls.running + " running, " + health.calls.waiting + " waiting"]);
  facts.push(["Protocol", health.protocol_revisions.join(", ")]);
  return facts;
}
async function refresh() {
  if (document.hidden) return;
  try {
    const response = await fetch("/health", { headers: { Accept: "application/json" }, cache: "no-store" });
    const health = await response.json();
    show(health.status, healthFacts(health));
  } catch {
    show("unreachable", [["Server", "does not answer; is it still running?"]]);
  }
}
refresh();
setInterval(refresh, 5000);
document.addEventListener("visibilitychange", refresh);
