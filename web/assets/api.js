// What the page asks: the server, or without one the simulator in the browser. Every answer is JSON.

/** offline is true on a page without a server. */
export const offline = document.documentElement.dataset.site !== undefined;

const simulator = offline ? import('./offline.js').then((m) => new m.Offline()) : null;

/** Mistake is an answer that says what is wrong, with its place in a workload file if it has one. */
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

/** ask asks a question, such as model or why. params that are undefined are left out. */
export async function ask(question, params = {}, signal) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) q.set(name, value);
  if (offline) return read(await (await simulator).ask(question, q), signal);
  return read(await answerOf(await fetch('api/' + question + '?' + q, { signal, cache: 'no-store' })), signal);
}

/** simulate sends a draft of the playground. */
export async function simulate(draft, signal) {
  if (offline) return read(await (await simulator).simulate(draft, signal), signal);
  const headers = { 'Content-Type': 'application/json' };
  return read(await answerOf(await fetch('api/simulate', { method: 'POST', headers, body: JSON.stringify(draft), signal })), signal);
}
