// Playground is the playground: an editor of workload files, policies to tick, and sliders. Each edit
// cancels the simulation before it. The address bar holds the state, so that a link shows the same.

import { ask, simulate } from './api.js';
import { element } from './lanes.js';
import { counted } from './model.js';

const MOST_LINES = 10_000;
const byID = (id) => document.getElementById(id);

export class Playground {
  constructor(page) {
    this.page = page;
    this.text = byID('text');
    this.numbers = byID('numbers');
    this.client = Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join('');
    this.settings = {}; // texts of the sliders that were moved, by the names of flags
    this.changes = new Map(); // numbers of sliders that are not in the text yet, by their places in it
    this.line = 0; // line of the mistake; 0: none
  }

  /** open fills the editor from the address, or with the first example. */
  async open() {
    document.body.classList.add('playing');
    byID('editor').hidden = false;
    const [{ examples, lessons }, { policies }] = await Promise.all([ask('examples'), ask('policies')]);
    this.examples = examples;
    const choice = byID('example');
    choice.replaceChildren(element('option', { value: '', textContent: 'your own' }), ...examples.map((e) => element('option', { value: e.name, textContent: e.title })),
      element('optgroup', { label: 'lessons' }, ...lessons.map((l) => element('option', { value: '#lesson=' + l.name, textContent: l.title }))));
    choice.addEventListener('change', () => {
      if (choice.value.startsWith('#')) location.hash = choice.value;
      else this.example(choice.value);
    });
    byID('ticks').replaceChildren(...policies.map((p) => {
      const box = element('input', { type: 'checkbox', value: p.name });
      box.addEventListener('change', () => this.run());
      return element('label', { title: `${p.line} (${p.paper})` }, box, ' ' + p.name);
    }));
    this.text.addEventListener('beforeinput', () => { this.before = this.text.value; });
    this.text.addEventListener('input', () => {
      if (this.text.value.split('\n').length > MOST_LINES) { // the browser would lay them out for half a minute
        this.text.value = this.before ?? '';
        return this.say(`The editor takes at most ${MOST_LINES} lines, so the text is as it was before. mrlocal sim takes longer files.`);
      }
      this.before = this.text.value;
      choice.value = '';
      byID('about').textContent = '';
      this.count();
      this.run();
    });
    this.text.addEventListener('scroll', () => { this.numbers.scrollTop = this.text.scrollTop; });
    if (!(await this.restore())) this.example(examples[0].name);
  }

  example(name) {
    const e = this.examples.find((x) => x.name === name);
    if (!e) return;
    if (this.text.value) history.pushState(null, '', location.href); // Back shows the text that was there
    this.page.base = null; // the example has nothing to do with it
    byID('example').value = name;
    byID('about').textContent = e.about;
    this.text.value = e.workload;
    this.settings = e.cost ? { cost: e.cost } : {};
    this.changes.clear();
    this.tick(e.policies);
    this.page.time.whole();
    this.page.time.follow();
    this.count();
    this.run();
  }

  tick(policies) {
    for (const box of byID('ticks').querySelectorAll('input')) box.checked = policies.includes(box.value);
  }

  ticked() {
    return Array.from(byID('ticks').querySelectorAll('input:checked'), (box) => box.value);
  }

  // count writes the line numbers, and marks the line of a mistake.
  count() {
    const n = Math.min(MOST_LINES, this.text.value.split('\n').length), numbers = (from, to) => Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i + '\n').join('');
    if (this.line && this.line <= n) this.numbers.replaceChildren(numbers(1, this.line - 1), element('b', { textContent: this.line }), '\n' + numbers(this.line + 1, n));
    else this.numbers.textContent = numbers(1, n);
    this.numbers.scrollTop = this.text.scrollTop;
  }

  draft() {
    return { client: this.client, workload: this.text.value, policies: this.ticked(), settings: this.settings, changes: [...this.changes.values()] };
  }

  /** run simulates the text in the editor with the settings, and shows the runs or the mistake. */
  async run() {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const draft = this.draft();
    this.save(draft);
    if (!draft.policies.length) return this.say('Tick at least one policy.');
    try {
      const answer = await simulate(draft, request.signal);
      await this.page.drafts(answer.results, request.signal);
      if (request.signal.aborted) return;
      if (draft.changes.length) { // the text has them now
        this.changes.clear();
        this.text.value = answer.workload;
        byID('example').value = '';
        this.save(this.draft());
      }
      this.line = 0;
      this.count();
      const stalled = answer.results.filter((r) => r.error).map((r) => `${r.policy}: ${r.error}`);
      const notes = [...new Set(answer.results.flatMap((r) => r.notes ?? []))];
      this.say([...stalled, ...notes].join(' ') || `${counted(answer.tasks, 'task')} under ${answer.results.length === 1 ? 'one policy' : answer.results.length + ' policies'}, simulated in ${answer.simulated_ms.toFixed(0)} ms`, !stalled.length);
      this.sliders(answer);
    } catch (e) {
      if (e.name === 'AbortError' || e.status === 409) return;
      this.line = e.line ?? 0;
      this.count();
      this.say(e.line ? `line ${e.line}, column ${e.column}: ${e.message}` : e.message);
    }
  }

  say(text, good) {
    this.page.ready();
    const box = byID('mistake');
    box.textContent = text;
    box.classList.toggle('good', !!good);
  }

  // sliders shows a slider for each setting, with the value in the answer of the simulation.
  sliders(answer) {
    const key = answer.pools.slice(0, 8).map((p) => p.name).join('\n');
    const values = { 'map-slots': answer.slots.map_slots, 'reduce-slots': answer.slots.reduce_slots, trackers: answer.slots.trackers, 'borrow-map': this.settings['borrow-map'] ?? 1, 'borrow-reduce': this.settings['borrow-reduce'] ?? 1, seed: this.settings.seed ?? 1 };
    if (this.sliderKey !== key) {
      this.sliderKey = key;
      this.inputs = {};
      const all = [
        ['map-slots', 'map slots', 1, 100, 1, ['cluster', 'map_slots']], ['reduce-slots', 'reduce slots', 1, 100, 1, ['cluster', 'reduce_slots']],
        ['trackers', 'trackers', 1, 50, 1, ['cluster', 'trackers']],
        ['borrow-map', 'borrow map', 0, 1, 0.1], ['borrow-reduce', 'borrow reduce', 0, 1, 0.1], ['seed', 'seed', 1, 100, 1],
        ...answer.pools.slice(0, 8).map((p) => ['w:' + p.name, 'weight of ' + p.name, 0.5, 10, 0.5, ['pools', p.name, 'weight']]),
      ].map(([name, label, min, max, step, path]) => this.slider(name, label, min, max, step, (value) => {
        if (path) this.change(path, value);
        else this.settings[name] = String(value);
      }));
      byID('sliders').replaceChildren(...all, this.costs());
    }
    this.cost.value = this.settings.cost ?? 'l0';
    for (const [name, value] of Object.entries(values)) this.set(name, value);
    for (const p of answer.pools.slice(0, 8)) this.set('w:' + p.name, p.weight);
  }

  // change sets a number of the workload file. The next answer has it in the text.
  change(path, value) { this.changes.set(path.join('\n'), { path, value }); }

  // costs returns the choice of the cost level.
  costs() {
    const models = [['l0', 'l0: copies take no time'], ['l1', 'l1: copies take time'], ['l2', 'l2: CPU, disk and network are shared']];
    this.cost = element('select', { id: 's-cost' }, ...models.map(([value, textContent]) => element('option', { value, textContent })));
    this.cost.addEventListener('change', () => {
      this.settings.cost = this.cost.value;
      this.run();
    });
    return element('div', { className: 'row' }, element('label', { textContent: 'cost model', htmlFor: 's-cost' }), this.cost);
  }

  slider(name, label, min, max, step, changed) {
    const input = element('input', { type: 'range', min, max, step, id: 's-' + name });
    const number = element('input', { type: 'number', min, max, step, 'aria-label': label });
    for (const [moved, other] of [[input, number], [number, input]]) {
      moved.addEventListener('input', () => {
        if (moved.value === '' || !moved.validity.valid) return;
        other.value = moved.value;
        changed(Number(moved.value));
        this.run();
      });
    }
    this.inputs[name] = { input, number };
    return element('div', { className: 'slider' }, element('label', { textContent: label, htmlFor: 's-' + name, title: label }), input, number);
  }

  set(name, value) {
    const { input, number } = this.inputs[name];
    if (Number(input.max) < value) input.max = number.max = value;
    if (document.activeElement !== input) input.value = value;
    if (document.activeElement !== number) number.value = +Number(value).toFixed(3);
  }

  // save puts the draft into the address, with the run that is shown behind.
  async save(draft) {
    const { client, ...state } = draft;
    const turn = (this.saving = (this.saving ?? 0) + 1), hash = await address(state), { base } = this.page;
    if (turn === this.saving) this.page.write(hash + (base ? '&base=' + base.id : ''));
  }

  // restore takes the state from the address. It returns whether the address has a valid one.
  async restore() {
    const at = /^#play=([\w-]+)(&base=\w+)?$/.exec(location.hash);
    if (!at) return false;
    try {
      const packed = atob(at[1].replaceAll('-', '+').replaceAll('_', '/'));
      const bytes = await through(Uint8Array.from(packed, (c) => c.charCodeAt(0)), new DecompressionStream('deflate-raw'));
      const { workload, policies, settings, changes } = JSON.parse(new TextDecoder().decode(bytes));
      if (typeof workload !== 'string' || !Array.isArray(policies)) throw new Error('not a draft');
      this.text.value = workload;
      this.tick(policies);
      this.settings = settings ?? {};
      for (const c of changes ?? []) this.change(c.path, c.value);
      byID('example').value = this.examples.find((e) => e.workload === workload)?.name ?? '';
      this.count();
      this.run();
      return true;
    } catch {
      this.page.notice('The address holds no state of the playground; here is the first example.');
      return false;
    }
  }
}

/** address returns the part of the address with a draft: as JSON, compressed by deflate, in URL-safe base64. */
export async function address(state) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream('deflate-raw'));
  let text = '';
  for (const b of bytes) text += String.fromCharCode(b);
  return 'play=' + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

// through returns bytes after a stream has compressed or decompressed them. It fails if the result is
// longer than 1 MiB.
async function through(bytes, stream) {
  const writer = stream.writable.getWriter();
  writer.write(bytes).catch(() => {});
  writer.close().catch(() => {});
  const parts = [];
  let n = 0;
  for (const reader = stream.readable.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    if ((n += value.length) > 1 << 20) throw new Error('too long');
  }
  const all = new Uint8Array(n);
  let at = 0;
  for (const p of parts) { all.set(p, at); at += p.length; }
  return all;
}
