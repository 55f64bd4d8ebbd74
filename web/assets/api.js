// What the page asks the server. Every answer is JSON.

/** Mistake is an answer that says what is wrong, with its place in a workload file if it has one. */
export class Mistake extends Error {
  constructor(status, answer) {
    super(answer.error || 'the server answered with status ' + status);
    this.status = status;
    this.line = answer.line || 0;
    this.column = answer.column || 0;
  }
}

async function read(response) {
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Mistake(response.status, { error: text.slice(0, 200) });
  }
  if (!response.ok) throw new Mistake(response.status, answer);
  return answer;
}

/** ask asks a question, such as model or why. params that are undefined are left out. */
export async function ask(question, params = {}, signal) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) q.set(name, value);
  return read(await fetch('api/' + question + '?' + q, { signal, cache: 'no-store' }));
}

/** simulate sends a draft of the playground. */
export async function simulate(draft, signal) {
  return read(await fetch('api/simulate', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(draft), signal,
  }));
}
