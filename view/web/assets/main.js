// Page is the page: it loads the runs, keeps the selection, and draws.

import { ask, offline } from './api.js';
import { Decisions, Inspector } from './decisions.js';
import { fit, legend, Paint } from './draw.js';
import { element, Lanes, Overview } from './lanes.js';
import { Run, span } from './model.js';
import { Buffers, Differences, Jobs, Shares, Shuffle } from './panels.js';
import { Playground } from './play.js';
import { Timeline } from './timeline.js';

const byID = (id) => document.getElementById(id);
const POLL = 500; // milliseconds between two questions about a live run
const MOST_SHOWN = 6;

// stored reads and writes a choice of the reader in the browser's storage, which may be forbidden.
const stored = {
  get(name) { try { return localStorage.getItem('mrlocal.' + name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem('mrlocal.' + name, value); } catch { /* the choice ends with the page */ } },
};

class Page {
  constructor() {
    this.runs = [];
    this.on = new Set(); // ids of the runs that are shown
    this.metrics = new Map();
    this.selected = null; // {run, slot, bar, decision, at}
    this.hue = 'job';
    this.time = new Timeline();
    this.lanes = new Map();
    this.theme(stored.get('theme') ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
    this.decisions = new Decisions(this);
    this.inspector = new Inspector(this);
    this.jobs = new Jobs(this);
    this.overview = new Overview(this, byID('overview').firstElementChild);
    this.panels = { shares: new Shares(this), buffers: new Buffers(this), shuffle: new Shuffle(this), differences: new Differences(this) };
    this.listen();
    this.tab('shares');
    this.inspector.show();
    this.time.addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(byID('below'));
  }

  async open() {
    const loading = setTimeout(() => this.notice(offline ? 'Loading the simulator…' : 'Loading…'), 300);
    const { runs, lesson } = await ask('runs').finally(() => clearTimeout(loading));
    const play = location.hash.startsWith('#play');
    addEventListener('hashchange', () => location.reload()); // the reader has opened a link to another state
    this.other(play, runs);
    if (!runs.length || play) {
      document.title = 'mrlocal: playground';
      this.playground = new Playground(this);
      await this.playground.open();
      return;
    }
    for (const r of runs) this.add(new Run(r.id, r.name));
    await this.load();
    if (lesson) {
      const { Lesson } = await import('./lesson.js'); // most pages do not need it
      await (this.lesson = new Lesson(this)).open();
    }
    this.restore();
    setTimeout(() => this.poll(), POLL);
  }

  // other shows a link from the runs to the playground, or back.
  other(play, runs) {
    if (!runs.length) return;
    const link = byID('other');
    link.hidden = false;
    link.textContent = play ? 'the runs' : 'playground';
    link.href = play ? '#' : '#play';
  }

  add(run) {
    this.runs.push(run);
    if (this.on.size < 2) this.on.add(run.id);
    this.arrange();
  }

  // load asks for the new rows of all live runs.
  async load() {
    for (const run of this.runs) {
      if (run.over) continue;
      const answer = await ask('model', { run: run.id, from: run.seq });
      if (run.apply(answer)) this.fresh = true;
      if (run.ended) run.over = true;
    }
    if (this.fresh) this.refreshed();
  }

  refreshed() {
    this.fresh = false;
    this.time.grow(Math.max(1, ...this.shown().map((r) => r.last)));
    if (!this.chosenHue) {
      const r = this.run;
      this.hue = r && r.jobs.length > 8 && r.pools.length > 1 && r.pools.length < r.jobs.length ? 'pool' : 'job';
      byID('hue').value = this.hue;
    }
    if (!this.selected && this.inspected !== this.run?.bars.seq.length) {
      this.inspected = this.run?.bars.seq.length;
      this.inspector.show();
    }
    this.decisions.refresh();
    this.arrange();
    this.draw();
  }

  // poll loads the new rows of live runs, again and again. Only the list of runs says if the events of a
  // run have ended early.
  async poll() {
    try {
      const { runs, lesson } = await ask('runs');
      for (const r of runs) {
        const known = this.runs.find((x) => x.id === r.id);
        if (!known) this.add(new Run(r.id, r.name));
        else if (r.ended && !known.ended && known.seq >= r.seq) known.over = true;
        if (r.note && known && !known.note) this.notice(`${r.policy || r.name}: ${(known.note = r.note)}`);
      }
      await this.load();
      if (this.away) {
        this.away = false;
        this.notice('The server is there again.');
      }
    } catch (e) {
      if (!this.away && this.runs.some((r) => !r.over)) this.notice('The server does not answer; what is here stays. (' + e.message + ')');
      this.away = true;
    }
    if (this.runs.some((r) => !r.over) || this.away) setTimeout(() => this.poll(), this.away ? 4 * POLL : POLL);
  }

  /** drafts replaces the runs by those of an answer of the playground. */
  async drafts(results, signal) {
    const runs = [];
    for (const r of results) {
      const run = new Run(r.run, r.policy);
      run.apply(await ask('model', { run: r.run, from: 0 }, signal));
      run.over = true;
      runs.push(run);
    }
    if (signal.aborted) return;
    const focus = this.run?.policy;
    this.metrics = new Map(results.map((r) => [r.run, r]));
    this.runs = runs;
    this.on = new Set(runs.map((r) => r.id));
    for (const l of this.lanes.values()) l.root.remove();
    this.lanes.clear();
    this.focused = runs.find((r) => r.policy === focus)?.id;
    this.selected = null;
    this.inspected = null; // the inspector still offers a loan of the old runs
    this.time.grow(Math.max(1, ...runs.map((r) => r.last)));
    this.refreshed();
    this.decisions.refresh(true);
  }

  shown() { return this.runs.filter((r) => this.on.has(r.id)).slice(0, MOST_SHOWN); }

  /** run is the shown run whose jobs and decisions are listed. */
  get run() {
    const shown = this.shown();
    return shown.find((r) => r.id === this.focused) ?? shown[0];
  }

  /** focus lists the jobs and decisions of another run. */
  focus(run) {
    if (this.run === run) return;
    this.focused = run.id;
    this.decisions.refresh(true);
    this.arrange();
    this.draw();
  }

  // arrange makes the boxes of the shown runs, and the choice of runs.
  arrange() {
    const shown = this.shown(), stack = byID('stack');
    for (const [id, l] of this.lanes) {
      if (!shown.some((r) => r.id === id)) {
        l.root.remove();
        this.lanes.delete(id);
      }
    }
    for (const run of shown) {
      if (!this.lanes.has(run.id)) {
        const l = new Lanes(this, run);
        this.lanes.set(run.id, l);
        stack.append(l.root);
      }
    }
    const key = this.runs.map((r) => r.id + r.policy + this.on.has(r.id)).join() + this.run?.id;
    if (this.arranged === key) return;
    this.arranged = key;
    byID('runs').replaceChildren(...(this.runs.length < 2 ? [] : this.runs.map((r) => this.choice(r))));
  }

  choice(run) {
    const box = element('input', { type: 'checkbox', checked: this.on.has(run.id) });
    box.addEventListener('change', () => {
      if (box.checked) this.on.add(run.id);
      else if (this.on.size > 1) this.on.delete(run.id);
      if (this.selected && !this.on.has(this.selected.run.id)) this.select(null);
      this.decisions.refresh(true);
      this.time.grow(Math.max(1, ...this.shown().map((r) => r.last)));
      this.arrange();
      this.draw();
    });
    const several = this.runs.filter((r) => r.policy === run.policy).length > 1;
    return element('label', { title: run.name }, box, ' ' + (several || !run.policy ? run.name : run.policy));
  }

  /** draw draws everything at the next frame of the browser. */
  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      if (this.paint.ratio !== devicePixelRatio) this.paint = new Paint(this.paint.theme, devicePixelRatio);
      for (const l of this.lanes.values()) l.draw();
      this.overview.draw();
      this.jobs.draw();
      this.panels[this.shownTab].draw();
      this.decisions.paint();
      this.head();
      clearTimeout(this.describes);
      this.describes = setTimeout(() => { for (const l of this.lanes.values()) l.describe(); }, 250);
    });
  }

  head() {
    const { time } = this, key = [time.at, time.end, time.playing, time.following, this.runs.map((r) => r.over)].join();
    if (this.headed === key) return; // nothing in the head has changed
    this.headed = key;
    byID('at').textContent = time.at === null ? (this.runs.every((r) => r.over) ? 'end ' : 'now ') + span(time.end) : span(Math.round(time.at));
    byID('follow').setAttribute('aria-pressed', time.at === null && time.following);
    byID('play').textContent = time.playing ? '❚❚' : '▶';
    byID('play').setAttribute('aria-label', time.playing ? 'Pause' : 'Play');
  }

  /** select selects an attempt, a decision or an idle moment of a slot; null: nothing. */
  select(s) {
    this.selected = s;
    this.inspector.show();
    if (s && s.decision >= 0) this.decisions.reveal(s.decision);
    this.save();
    this.draw();
  }

  /** hides is whether a lesson hides everything after the moment that is shown. */
  get hides() { return !!this.lesson?.hides; }

  /** pick selects the clicked bar with its decision, or the idle moment. hit is a result of Lanes.hit. */
  pick(hit) {
    if (hit && this.lesson?.answer(hit.slot, hit.run)) return;
    if (!hit || hit.at < 0 || hit.at > this.time.end) return this.select(null);
    this.focus(hit.run);
    if (hit.bar >= 0 && hit.run.bars.from[hit.bar] <= this.time.now) {
      return this.select({ ...hit, at: undefined, decision: hit.run.startOf[hit.bar] });
    }
    if (hit.at > Math.min(hit.run.last, this.time.now)) return this.select(null);
    this.select({ ...hit, bar: -1, decision: -1 });
  }

  /** choose selects the decision of a row, and shows its moment. */
  choose(row) {
    if (row < 0) return;
    const { run } = this, d = run.decisions;
    this.time.playing = false;
    this.time.show(d.at[row]);
    if (d.slot[row] >= 0) this.lanes.get(run.id)?.reveal(d.slot[row]);
    this.select({ run, slot: d.slot[row], bar: d.bar[row], decision: row });
  }

  step(by) {
    if (!this.lesson?.waits) this.choose(this.decisions.step(by));
  }

  /** tip shows a tooltip for a result of Lanes.hit; null hides it. */
  tip(hit, x, y) {
    const box = byID('tip');
    box.hidden = !hit || hit.at < 0 || hit.at > hit.run.last;
    if (box.hidden) return;
    const { run, bar } = hit, b = run.bars;
    box.textContent = bar < 0 || b.from[bar] > this.time.now ? `slot ${hit.slot}, idle at ${span(Math.round(hit.at))}`
      : `${run.taskName(bar)}, slot ${hit.slot}${b.lent[bar] ? ', lent' : ''}${b.speculative[bar] ? ', copy' : ''}: ${span(b.from[bar])} to ${run.to[bar] < 0 ? 'now' : span(run.to[bar])} (${run.howName(bar)})`;
    box.style.left = Math.min(x + 12, innerWidth - box.offsetWidth - 4) + 'px';
    box.style.top = Math.min(y + 16, innerHeight - box.offsetHeight - 4) + 'px';
  }

  notice(text, stays) {
    const box = byID('notice');
    box.textContent = text;
    box.hidden = false;
    clearTimeout(this.notices);
    if (!stays) this.notices = setTimeout(() => { box.hidden = true; }, 6000);
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    this.paint = new Paint(name, devicePixelRatio);
    byID('theme').textContent = name === 'dark' ? 'light' : 'dark';
    this.legend();
  }

  legend() {
    const items = legend(this.hue).map(([text, shape]) => {
      const canvas = element('canvas'), ctx = fit(canvas, 26, 13, devicePixelRatio);
      if (shape) this.paint.bar(ctx, shape);
      return element('span', {}, canvas, text);
    });
    const badge = element('span', { textContent: 'badges: M map slot, R reduce slot, X extra slot; lower-case letter: lent, or of changed home kind' });
    byID('legend').replaceChildren(...items, badge);
  }

  tab(name) {
    this.shownTab = name;
    for (const b of byID('tabs').querySelectorAll('button')) b.setAttribute('aria-selected', b.dataset.tab === name);
    const p = this.panels[name];
    byID('panel').replaceChildren(...p.root);
    byID('options').replaceChildren(...p.options);
    this.draw();
  }

  // save puts the selected decision of a run into the address.
  save() {
    if (this.playground) return;
    const s = this.selected;
    history.replaceState(null, '', s && s.decision >= 0 ? `#run=${s.run.id}&seq=${s.run.decisions.seq[s.decision]}` : location.pathname + location.search);
  }

  restore() {
    if (this.hides) return;
    const at = new URLSearchParams(location.hash.slice(1)), run = this.runs.find((r) => r.id === at.get('run'));
    if (!run) return;
    const row = run.decisions.seq.indexOf(Number(at.get('seq')));
    if (row < 0) return;
    this.on.add(run.id);
    this.focus(run);
    this.arrange();
    this.choose(row);
  }

  listen() {
    const { time } = this, speeds = [['run in 30 s', 0], ['0.1 ×', 0.1], ['1 ×', 1], ['10 ×', 10], ['100 ×', 100]];
    byID('speed').replaceChildren(...speeds.map(([textContent, value]) => element('option', { textContent, value })));
    byID('speed').addEventListener('change', (e) => { time.speed = Number(e.target.value); });
    byID('back').addEventListener('click', () => this.step(-1));
    byID('forth').addEventListener('click', () => this.step(1));
    byID('play').addEventListener('click', () => time.play(!time.playing));
    byID('whole').addEventListener('click', () => time.whole());
    byID('follow').addEventListener('click', () => time.follow());
    byID('hue').addEventListener('change', (e) => {
      this.hue = e.target.value;
      this.chosenHue = true;
      this.legend();
      this.draw();
    });
    byID('theme').addEventListener('click', () => this.swapTheme());
    byID('tables').addEventListener('click', () => this.tables());
    byID('keys').addEventListener('click', () => byID('help').showModal());
    byID('tabs').addEventListener('click', (e) => e.target.dataset.tab && this.tab(e.target.dataset.tab));
    document.addEventListener('keydown', (e) => this.key(e));
    document.addEventListener('scroll', () => this.tip(null), true);
  }

  swapTheme() {
    const name = this.paint.theme === 'dark' ? 'light' : 'dark';
    stored.set('theme', name);
    this.theme(name);
    this.draw();
  }

  tables() {
    const on = document.body.classList.toggle('tables');
    byID('tables').setAttribute('aria-pressed', on);
    this.draw();
  }

  key(e) {
    const t = e.target;
    if (!(t instanceof Element) || byID('help').open || e.ctrlKey || e.metaKey || e.altKey || t.matches('textarea, select, input[type=text], input[type=range]')) return;
    const { time } = this;
    const act = {
      ArrowLeft: () => (e.shiftKey ? time.pan(-0.25) : this.step(-1)), ArrowRight: () => (e.shiftKey ? time.pan(0.25) : this.step(1)),
      ' ': () => (t.matches('button, input') ? null : time.play(!time.playing)),
      '+': () => time.zoom(0.7, time.at ?? undefined), '=': () => time.zoom(0.7, time.at ?? undefined), '-': () => time.zoom(1.4, time.at ?? undefined), 0: () => time.whole(),
      Home: () => time.show(0), End: () => time.follow(), f: () => time.follow(),
      l: () => { const w = byID('which'); w.value = w.value === 'lent' ? 'all' : 'lent'; this.decisions.refresh(true); },
      t: () => this.tables(), d: () => this.swapTheme(), '?': () => byID('help').showModal(), Escape: () => this.select(null),
    }[e.key];
    if (!act || act() === null) return;
    e.preventDefault();
  }
}

const page = new Page();
page.open().catch((e) => page.notice('The page could not load the runs: ' + e.message, true));
