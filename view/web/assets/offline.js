// Offline answers the questions of a page without a server. The simulator runs in a worker, compiled
// to WebAssembly. To cancel a simulation, Offline ends the worker and starts another one.

import { unpacked } from './unpack.js';

const MOST_SECONDS = 10; // real time of one simulation

export class Offline {
  constructor() {
    this.site = fetch('site.json').then((r) => r.json());
    // The answers of the first screen of recorded runs are files, so that it does not wait for the simulator.
    this.first = unpacked('first.json.gz').then((bytes) => JSON.parse(new TextDecoder().decode(bytes))).catch(() => ({}));
    this.loaded = Promise.all([unpacked('lab.wasm.gz').then((bytes) => WebAssembly.compile(bytes)), this.site]);
    this.loaded.catch((e) => this.end(e, true));
    this.waiting = new Map(); // questions without an answer, by number
    this.asked = this.drafts = this.workers = 0;
    this.draft = null; // the last draft that was simulated: {number, text, runs, worker}
    this.broken = null; // the error after which no question can be answered
    this.begin();
  }

  // begin starts a worker. All workers share the module, which is loaded and compiled once.
  begin() {
    this.workers++;
    const worker = (this.worker = new Worker('worker.js', { type: 'module' }));
    worker.onmessage = ({ data }) => {
      if (data.broken) return this.end(new Error(data.broken), data.forever);
      const call = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      call?.resolve({ status: data.status, text: new TextDecoder().decode(data.answer) });
    };
    worker.onerror = (e) => this.end(new Error(e.message || 'the simulator does not start'), true);
    // The playground needs recorded runs only to show one behind its variants.
    this.loaded.then(([module, site]) => worker.postMessage({ module, runs: /^#(play|lesson)/.test(location.hash) && !location.hash.includes('&base=') ? [] : site.runs }), () => {});
  }

  // end ends the worker, and rejects its questions with reason. Then it starts another worker, unless forever is set.
  end(reason, forever) {
    this.worker?.terminate();
    for (const call of this.waiting.values()) call.reject(reason);
    this.waiting.clear();
    if (forever) this.broken = reason;
    else this.begin();
  }

  call(question, text) {
    if (this.broken) return Promise.reject(this.broken);
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.asked, { resolve, reject });
      this.worker.postMessage({ id: this.asked, question, text });
    });
  }

  /** simulate simulates a draft. If signal is aborted before the answer, it ends the worker. */
  async simulate(draft, signal) {
    const text = JSON.stringify(draft), answer = await this.run(text, signal);
    if (answer.status !== 200) return answer;
    const parsed = JSON.parse(answer.text);
    this.draft = { number: ++this.drafts, text, runs: parsed.results.map((r) => r.run), worker: this.workers };
    parsed.results.forEach((r, i) => { r.run = `${this.drafts}.${i}`; });
    return { status: 200, text: JSON.stringify(parsed) };
  }

  async run(text, signal) {
    await this.loaded;
    signal?.throwIfAborted();
    const cancel = () => this.end(new DOMException('a newer draft has come', 'AbortError'));
    const late = setTimeout(() => this.end(new Error(`simulation: takes longer than ${MOST_SECONDS} s; use mrlocal sim`)), MOST_SECONDS * 1000);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await this.call('simulate', text);
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** ask answers a question with the parameters q. */
  async ask(question, q) {
    if (question === 'runs') {
      const { runs } = await this.site;
      return { status: 200, text: JSON.stringify({ runs: runs.map(({ name }, i) => ({ id: String(i), name, policy: '', ended: true, seq: 0 })) }) };
    }
    const known = (await this.first)[question + '?' + q];
    if (known) return { status: 200, text: JSON.stringify(known) };
    const ids = q.getAll('run');
    q.delete('run');
    for (const run of ids) {
      const id = /^(\d+)\.(\d+)$/.exec(run), { draft } = this;
      if (id && draft?.number !== Number(id[1])) return { status: 404, text: '{"error":"there is no such run any more"}' };
      if (id && draft.worker !== this.workers) await (draft.again ??= this.again(draft));
      q.append('run', id ? draft.runs[id[2]] : run);
    }
    return this.call(question, q.toString());
  }

  // again simulates a draft once more, because the worker that had its runs has ended.
  async again(draft) {
    try {
      const answer = await this.run(draft.text), { results } = JSON.parse(answer.text);
      [draft.runs, draft.worker] = [results.map((r) => r.run), this.workers];
    } finally {
      draft.again = null;
    }
  }
}
