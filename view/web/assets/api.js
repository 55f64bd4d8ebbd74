// This module asks questions. It asks the server, or on a page without a server the simulator in the
// browser. Every answer is JSON.

/** offline is whether the page has no server. */
export const offline = document.documentElement.dataset.site !== undefined;

const simulator = offline ? import('./offline.js').then((m) => new m.Offline()) : null;

/** Mistake is an answer with an error. line and column are a place in a workload file; 0: none. */
export class Mistake extends Error {
  constructor(status, answer) {
    super(answer.error || 'the server answered with status ' + status);
    this.status = status;
    this.line = answer.line || 0;
    this.column = answer.column || 0;
  }
}

function read({ status, text }, signal) {
  signal?.throwIfAborted();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Mistake(status, { error: text.slice(0, 200) });
  }
  if (status !== 200) throw new Mistake(status, answer);
  return answer;
}

const answerOf = async (response) => ({ status: response.status, text: await response.text() });

/** ask asks a question, such as model or why, and returns the answer. It leaves out params that are undefined. */
export async function ask(question, params = {}, signal) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) for (const v of [value].flat()) if (v !== undefined) q.append(name, v);
  if (offline) return read(await (await simulator).ask(question, q), signal);
  return read(await answerOf(await fetch('api/' + question + '?' + q, { signal, cache: 'no-store' })), signal);
}

/** simulate simulates a draft of the playground, and returns the answer. */
export async function simulate(draft, signal) {
  if (offline) return read(await (await simulator).simulate(draft, signal), signal);
  const headers = { 'Content-Type': 'application/json' };
  return read(await answerOf(await fetch('api/simulate', { method: 'POST', headers, body: JSON.stringify(draft), signal })), signal);
}
