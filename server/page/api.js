// Talking to the node.

import { authorized } from "/page/token.js";

// Problem is an error that the node answered, or that it did not answer.
export class Problem extends Error {
  constructor({ title, detail, status = 0, field = "" }) {
    super([field, detail || title].filter(Boolean).join(": "));
    this.status = status;
  }
}

export function get(path) {
  return call("GET", path);
}

export function remove(path) {
  return call("DELETE", path);
}

export function post(path, body, headers = {}) {
  return call("POST", path, { body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } });
}

const patience = 20_000; // milliseconds until a request has failed: a node answers in ten seconds, if only that it cannot

async function call(method, path, { headers, ...options } = {}) {
  let answer;
  try {
    answer = await authorized((credentials) => fetch(path,
      { method, headers: { ...headers, ...credentials }, signal: AbortSignal.timeout(patience), ...options }));
  } catch {
    throw new Problem({ detail: "The node does not answer." });
  }
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => ({ title: answer.statusText }));
  if (!answer.ok) throw new Problem({ status: answer.status, ...content });
  return content;
}

// every calls back now and then every so many milliseconds while somebody looks,
// never twice at a time.
export function every(milliseconds, callback) {
  const tick = async () => {
    if (!document.hidden) await callback();
    setTimeout(tick, milliseconds);
  };
  tick();
}
