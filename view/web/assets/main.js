// Page is the page: it loads the runs, keeps the selection, and draws.

import { ask, offline } from './api.js';
import { settingsOf, told, unsaid, workloadOf } from './change.js';
import { Decisions, Inspector } from './decisions.js';
import { fit, legend, Paint } from './draw.js';
import { element, Lanes } from './lanes.js';
import { Run, size, span } from './model.js';
import { Overview } from './overview.js';
import { Buffers, Differences, Jobs, Shares, Shuffle } from './panels.js';
import { address, Playground } from './play.js';
import { Timeline } from './timeline.js';

const byID = (id) => document.getElementById(id);
const POLL = 500; // milliseconds between two questions about a live run
const MOST_SHOWN = 6;
const column = matchMedia('(max-width: 700px), (max-width: 1000px) and (max-height: 600px)'); // as in style.css: one column

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
    this.early = []; // keys that were pressed before the first picture
    this.address = location.hash; // as the page has written it last
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
    this.time.addEventListener('change', () => {
      this.save();
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(byID('below'));
  }

  async open() {
    this.lasts('loading', 'Loading…');
    const { runs, lesson } = await ask('runs');
    const play = location.hash.startsWith('#play'), name = new URLSearchParams(location.hash.slice(1)).get('lesson');
    addEventListener('hashchange', () => location.reload()); // the reader has opened a link to another state
    this.other(play, runs, name);
    if (name) return this.learn(name);
    if (!runs.length || play) {
      document.title = 'mrlocal: playground';
      this.playground = new Playground(this);
      await this.behind(new URLSearchParams(location.hash.slice(1)).get('base'), runs);
      await this.playground.open();
      return;
    }
    this.taught = lesson; // hides everything until the lesson is loaded
    if (lesson) this.time.show(0);
    for (const r of runs) this.add(new Run(r.id, r.name));
    await this.load();
    if (lesson) {
      const { Lesson } = await import('./lesson.js'); // most pages do not need it
      await (this.lesson = new Lesson(this)).open();
      this.taught = false;
    }
    this.restore();
    setTimeout(() => this.poll(), POLL);
  }

  // learn shows the lesson of that name, whose runs are simulated. The address keeps its name.
  async learn(name) {
    this.taught = true;
    this.lessonName = name;
    this.lasts('loading', 'Simulating the lesson…');
    const answer = await ask('lesson', { name }), { Lesson } = await import('./lesson.js');
    this.time.show(0);
    for (const r of answer.runs) this.add(new Run(r.id, r.title));
    await this.load();
    await (this.lesson = new Lesson(this)).open(answer);
    this.taught = false;
    this.restore();
  }

  /** ready shows the first picture, and does what the keys that were pressed before it ask for. */
  ready() {
    if (!this.early) return;
    const { early } = this;
    this.early = null;
    this.lasts('loading');
    byID('clock').inert = false;
    this.draw();
    for (const e of early) this.key(e);
  }

  // behind loads the run that the playground shows behind each variant; id is null if there is none.
  async behind(id, runs) {
    const of = runs.find((r) => r.id === id);
    if (!of) return;
    this.base = new Run(of.id, of.name);
    this.base.apply(await ask('model', { run: id, from: 0 }));
  }

  // change opens the jobs of the run in the playground. Back shows the runs again.
  async change() {
    const { run } = this;
    this.restored = false; // the address is no longer that of the runs, so save leaves it alone
    clearTimeout(this.saving);
    location.hash = (await address({ workload: workloadOf(run), policies: [run.policy], settings: settingsOf(run) })) + '&base=' + run.id;
  }

  // other shows a link from the runs or a lesson to the playground, or back.
  other(play, runs, lesson) {
    if (!runs.length && !lesson) return;
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
    this.time.grow(Math.max(1, this.base?.last ?? 0, ...this.shown().map((r) => r.last)));
    byID('change').hidden = !!this.playground || !!this.hides || !this.run?.over;
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

  // tell asks for the headline of the runs that are shown, and for the critical path of each run that has ended. During
  // a live run it asks at most once a second, and the headline has the moment that the rest of the page shows.
  async tell() {
    const shown = this.shown().filter((r) => r.lanes.length), key = shown.map((r) => r.id + ':' + r.seq).join();
    const going = shown.find((r) => !r.over), over = !going;
    byID('headline').setAttribute('aria-live', going ? 'off' : 'polite'); // a screen reader does not read each moment
    if (going && !this.hides && !this.away) {
      const text = `${this.called(going)} goes on; so far ${span(going.last)}.`;
      if (byID('headline').textContent !== text) byID('headline').textContent = text;
    }
    if (this.told === key || !shown.length || this.hides || this.away || (this.telling && !over)) return;
    clearTimeout(this.telling);
    const wait = over || !this.told ? 0 : 1000;
    this.telling = setTimeout(async () => {
      this.telling = 0;
      this.told = key;
      try {
        const { text } = going ? {} : await ask('headline', { run: shown.map((r) => r.id) });
        const than = this.base && shown.length ? told(this.base, shown, this.playground.settings) : '';
        if (!going && this.told === key) byID('headline').replaceChildren(...(than || text).split(/(\S+-\S+)/).map((words, i) => (i % 2 ? element('span', { className: 'whole', textContent: words }) : words)));
        if (this.told === key) byID('unsaid').textContent = than ? unsaid(this.base) : '';
        for (const run of shown) {
          if (run.over && run.path?.seq !== run.seq) run.path = { seq: run.seq, ...(await ask('path', { run: run.id })) };
        }
        if (!this.selected) this.inspector.show();
        this.draw();
      } catch { /* what was told before stays; poll says if the server is away */ }
    }, wait);
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
        if (r.note && known) this.lasts('note of ' + r.id, `${this.called(known)}: ${r.note}`);
      }
      await this.load();
      if (this.away) this.lost(false);
    } catch (e) {
      if (!this.away) this.lost(true, e.message);
    }
    if (this.runs.some((r) => !r.over) || this.away) setTimeout(() => this.poll(), this.away ? 4 * POLL : POLL);
  }

  // lost notes that the server does not answer, or that it answers again. Until then nobody knows how the runs go on.
  lost(away, reason) {
    this.away = away;
    const live = away && this.runs.some((r) => !r.over);
    this.lasts('away', live ? `The server does not answer: the run was killed, or the connection is gone. Here is what was known before. (${reason})` : '');
    if (live) byID('headline').textContent = this.shown().filter((r) => !r.over).map((r) => `${this.called(r)} was cut off after ${span(r.last)}.`).join(' ');
    this.told = ''; // asked again when the server is there
    if (!away) this.notice('The server is there again.');
    this.draw();
  }

  /** unknown is whether nobody knows how a run goes on. */
  unknown(run) { return !!this.away && !run.over; }

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
    for (const l of this.lanes.values()) l.remove();
    this.lanes.clear();
    this.focused = runs.find((r) => r.policy === focus)?.id;
    this.selected = null;
    this.inspected = null; // the inspector still offers a loan of the old runs
    this.refreshed();
    this.decisions.refresh(true);
  }

  /** called returns the name of a run: that of its policy, or its own if another run has the same policy. */
  called(run) {
    const alone = run.policy && !this.runs.some((r) => r !== run && r.policy === run.policy);
    return alone ? run.policy : run.name;
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
        l.remove();
        this.lanes.delete(id);
      }
    }
    for (const run of shown) {
      if (!this.lanes.has(run.id)) {
        const l = new Lanes(this, run);
        this.lanes.set(run.id, l);
        stack.append(l.root);
        byID('attempts').append(l.table);
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
      this.save();
      this.draw();
    });
    return element('label', { title: run.name }, box, ' ' + this.called(run));
  }

  /** scrolled scrolls the other runs along with one, and draws. */
  scrolled(one) {
    for (const l of this.lanes.values()) if (l !== one && l.scroll.scrollTop !== one.scroll.scrollTop) l.scroll.scrollTop = one.scroll.scrollTop;
    this.draw();
  }

  /** draw draws everything at the next frame of the browser. */
  draw() {
    if (this.waits || this.early) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      if (this.paint.ratio !== devicePixelRatio) this.paint = new Paint(this.paint.theme, devicePixelRatio);
      for (const l of this.lanes.values()) l.draw();
      this.fit();
      this.overview.draw();
      this.live();
      this.tell();
      this.jobs.draw();
      this.panels[this.shownTab].draw();
      this.legend();
      this.decisions.paint();
      this.head();
      if (this.rises) byID('stage').scrollIntoView();
      this.rises = false;
      clearTimeout(this.describes);
      this.describes = setTimeout(() => { for (const l of this.lanes.values()) l.describe(); }, 250);
    });
  }

  // fit gives the height that few slots do not need to what is below them, and many slots what they need. A lesson's card
  // changes its height too often.
  fit() {
    const taught = byID('stage').contains(byID('lesson')), rest = byID('stage').offsetHeight - byID('stack').offsetHeight - byID('attempts').offsetHeight;
    const [need, want] = ['need', 'want'].map((name) => [...this.lanes.values()].reduce((sum, l) => sum + l[name], rest));
    const heights = `--need: ${need < Infinity && !taught ? need + 'px' : '100vh'}; --want: ${taught ? 0 : want}px`;
    if (this.fitted !== heights) document.documentElement.style.cssText = heights;
    this.fitted = heights;
  }

  // live says what live runs use: cores since the measurement before, memory of buffers, temporary files, and the
  // bytes that maps have read in the last ten seconds.
  live() {
    const runs = this.shown().filter((r) => !r.over && !this.unknown(r) && r.usage.seq.length > 0);
    byID('live').hidden = !runs.length;
    byID('live').textContent = runs.map((r) => {
      const u = r.usage, i = u.seq.length - 1, before = Math.max(0, i - 1), since = u.at[i] - (i ? u.at[before] : 0);
      const cores = since > 0 ? (u.cpu[i] - (i ? u.cpu[before] : 0)) / since : 0;
      let read = 0;
      const from = Math.max(0, r.last - 1e10);
      for (let e = r.ends.seq.length - 1; e >= 0 && r.ends.at[e] >= from; e--) read += r.ends.in_bytes[e];
      return `${this.called(r)}: ${cores.toFixed(1)} cores, buffers ${size(u.memory_bytes[i])}${u.bound_bytes[i] ? ` of ${size(u.bound_bytes[i])}` : ''}, temporary files ${size(u.temp_bytes[i])}, read ${size((read * 1e9) / Math.max(1, r.last - from))}/s${this.left(r)}`;
    }).join(' · ');
  }

  // left says how long a live run still takes, if it goes on as until now: in tasks by time since its first job came.
  // While the input of a job goes on, nobody knows.
  left(run) {
    let done = 0, all = 0;
    if (!run.jobs.every((j) => j.sealed || j.finish >= 0)) return '';
    for (const j of run.jobs) {
      const at = run.doneAt(j.job, run.last);
      done += at.maps + at.reduces;
      all += j.maps + j.reduces;
    }
    const since = run.last - Math.min(...run.jobs.map((j) => j.submit));
    return done && done < all ? `, about ${span(Math.ceil((since * (all - done)) / done / 1e9) * 1e9)} left` : '';
  }

  head() {
    const { time } = this, key = [time.at, time.end, time.playing, time.following, this.runs.map((r) => r.over)].join();
    if (this.headed === key) return; // nothing in the head has changed
    this.headed = key;
    byID('at').textContent = time.at === null ? (this.runs.every((r) => r.over) ? 'end ' : 'now ') + span(time.end) : span(Math.round(time.at));
    byID('follow').hidden = this.runs.every((r) => r.over);
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
    if (s) this.top();
    else this.draw();
  }

  /** top scrolls a page of one column to the headline, after the next drawing. The slots and the inspector are below it. */
  top() {
    this.rises = column.matches;
    this.draw();
  }

  /** now is the last moment that may be seen. While time is not hidden, it is the moment that is shown. */
  get now() { return this.taught ? -1 : this.hides ? this.lesson.limit : this.time.now; }

  /** hides is whether a lesson hides everything after now. */
  get hides() { return this.taught || !!this.lesson?.hides; }

  /** pick selects the clicked bar with its decision, or the idle moment. hit is a result of Lanes.hit. */
  pick(hit) {
    if (hit && this.lesson?.answer(hit.slot, hit.run)) return;
    if (!hit || hit.at < 0 || hit.at > this.time.end) return this.select(null);
    this.focus(hit.run);
    if (hit.bar >= 0 && hit.run.bars.from[hit.bar] <= this.now) {
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

  /** hover puts the cursor at a moment in all drawings, and shows a tooltip with words. null hides both. */
  hover(at, words, x, y) {
    const box = byID('tip');
    for (const c of document.querySelectorAll('.cursor')) {
      c.hidden = at === null || (!c.whole && (at < this.time.from || at > this.time.to));
      if (!c.hidden) c.style.left = c.x(at) + 'px';
    }
    box.hidden = !words;
    if (box.hidden) return;
    box.textContent = words;
    box.style.left = Math.min(x + 12, innerWidth - box.offsetWidth - 4) + 'px';
    box.style.top = Math.min(y + 16, innerHeight - box.offsetHeight - 4) + 'px';
  }

  /** words describes what is at a moment of a slot. hit is a result of Lanes.hit, or null. */
  words(hit) {
    if (!hit || hit.at < 0 || hit.at > hit.run.last) return '';
    const { run, bar } = hit, b = run.bars, at = `${span(Math.round(hit.at))} · `;
    if (bar < 0 || b.from[bar] > this.now) {
      return `${at}slot ${hit.slot}, ${hit.at >= run.lostAt(run.lane(hit.slot)) ? 'its tracker is lost' : 'idle'}`;
    }
    return `${at}${run.taskName(bar)}, slot ${hit.slot}${b.lent[bar] ? ', lent' : ''}${b.speculative[bar] ? ', copy' : ''}: ${span(b.from[bar])} to ${run.to[bar] < 0 ? 'now' : span(run.to[bar])} (${run.howName(bar)})`;
  }

  /** notice says that something has happened. */
  notice(text) {
    const box = byID('notice');
    box.textContent = text;
    box.hidden = false;
    clearTimeout(this.notices);
    this.notices = setTimeout(() => { box.hidden = true; }, 6000);
  }

  /** lasts says that something is so, until it is called for the same state without a text. */
  lasts(state, text) {
    this.states ??= new Map();
    if (text) this.states.set(state, text);
    else this.states.delete(state);
    const box = byID('lasting');
    box.textContent = [...this.states.values()].join(' ');
    box.hidden = !this.states.size;
  }

  theme(name) {
    document.documentElement.dataset.theme = name;
    this.paint = new Paint(name, devicePixelRatio);
    byID('theme').textContent = name === 'dark' ? 'light' : 'dark';
  }

  // legend shows the signs that occur in the runs on the screen.
  legend() {
    const shown = this.shown(), occur = new Set(shown.flatMap((r) => r.signs));
    const folded = [...this.lanes.values()].find((l) => l.keys().length)?.keys() ?? [];
    const signs = [...legend(this.hue, occur), ...folded, ...(this.hides ? [] : this.panels[this.shownTab].keys?.() ?? [])], key = [this.paint.theme, ...signs.map(([words]) => words)].join();
    if (this.legended === key) return;
    this.legended = key;
    const items = signs.map(([text, draw]) => {
      const canvas = element('canvas'), ctx = fit(canvas, 26, 13, devicePixelRatio);
      draw(this.paint, ctx);
      return element('span', {}, canvas, text);
    });
    const extra = shown.some((r) => r.lanes.some((l) => l.extra)), moved = shown.some((r) => r.bars.moved.includes(1));
    const words = `badges: M map slot, R reduce slot${extra ? ', X extra slot' : ''}; lower-case letter: lent${moved ? ', or of changed home kind' : ''}`;
    byID('legend').replaceChildren(...items, element('span', { textContent: words }));
  }

  tab(name) {
    this.shownTab = name;
    for (const b of byID('tabs').querySelectorAll('button')) b.setAttribute('aria-selected', b.dataset.tab === name);
    const p = this.panels[name];
    byID('panel').replaceChildren(...p.root);
    byID('options').replaceChildren(...p.options);
    this.save();
    this.draw();
  }

  // save puts what the page shows into the address: the runs, the window of time, the panel, the hue, and what is
  // selected. What is as at first is left out.
  save() {
    if (this.playground || this.hides || !this.restored) return;
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      const { time, selected: s } = this, at = new URLSearchParams(), on = this.shown().map((r) => r.id).join();
      if (this.lessonName) at.set('lesson', this.lessonName);
      if (on !== this.runs.slice(0, 2).map((r) => r.id).join()) at.set('on', on);
      if (time.from > 0 || time.to < time.end) at.set('window', `${Math.round(time.from)},${Math.round(time.to)}`);
      if (this.shownTab !== 'shares') at.set('tab', this.shownTab);
      if (this.chosenHue) at.set('hue', this.hue);
      if (s) at.set('run', s.run.id);
      if (s?.decision >= 0) at.set('seq', s.run.decisions.seq[s.decision]);
      else if (s?.at !== undefined) { at.set('slot', s.slot); at.set('at', Math.round(s.at)); }
      this.write(at.toString());
    }, 200);
  }

  /** write puts a state into the address, unless the reader has opened a link to another one. */
  write(hash) {
    if (location.hash !== this.address) return;
    history.replaceState(null, '', hash ? '#' + hash : location.pathname + location.search);
    this.address = location.hash;
  }

  // restore shows what the address says.
  restore() {
    const at = new URLSearchParams(location.hash.slice(1)), find = (id) => this.runs.find((r) => r.id === id);
    this.restored = true;
    this.save(); // what was chosen while the runs were loaded
    if (!this.hides) this.recall(at, find);
    this.ready();
  }

  // recall shows what the parameters of the address say. find returns a run by its id.
  recall(at, find) {
    const on = (at.get('on') ?? '').split(',').filter(find);
    if (on.length) this.on = new Set(on);
    if (['job', 'pool'].includes(at.get('hue'))) {
      [this.hue, this.chosenHue] = [at.get('hue'), true];
      byID('hue').value = this.hue;
    }
    if (this.panels[at.get('tab')]) this.tab(at.get('tab'));
    const run = find(at.get('run'));
    if (run) this.on.add(run.id);
    this.refreshed();
    const [from, to] = (at.get('window') ?? '').split(',').map(Number);
    if (to > from) this.time.window(from, to);
    if (!run) return;
    this.focus(run);
    this.arrange();
    const row = at.has('seq') ? run.decisions.seq.indexOf(Number(at.get('seq'))) : -1;
    if (row >= 0) this.choose(row);
    else if (run.lane(Number(at.get('slot'))) && at.has('at')) this.select({ run, slot: Number(at.get('slot')), at: Number(at.get('at')), bar: -1, decision: -1 });
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
      this.save();
      this.draw();
    });
    byID('theme').addEventListener('click', () => this.swapTheme());
    byID('tables').addEventListener('click', () => this.tables());
    byID('change').addEventListener('click', () => this.change());
    byID('critical').addEventListener('click', () => this.critical());
    byID('share').addEventListener('click', () => this.share());
    byID('keys').addEventListener('click', () => byID('help').showModal());
    byID('tabs').addEventListener('click', (e) => e.target.dataset.tab && this.tab(e.target.dataset.tab));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (e) => {
      if (!stored.get('theme')) this.theme(e.matches ? 'dark' : 'light');
      this.draw();
    });
    document.addEventListener('keydown', (e) => this.key(e));
    document.addEventListener('scroll', () => this.hover(null), true);
  }

  swapTheme() {
    const name = this.paint.theme === 'dark' ? 'light' : 'dark';
    stored.set('theme', name);
    this.theme(name);
    this.draw();
  }

  async share() {
    if (this.hides || !this.run?.lanes.length) return this.notice('There is nothing to share yet.');
    const { Share } = await import('./share.js'); // most readers do not share
    await (this.shares ??= new Share(this)).open();
  }

  critical() {
    this.drawsPath = !this.drawsPath;
    byID('critical').setAttribute('aria-pressed', this.drawsPath);
    if (this.drawsPath) for (const l of this.lanes.values()) l.unfold();
    this.draw();
  }

  tables() {
    const on = document.body.classList.toggle('tables');
    byID('tables').setAttribute('aria-pressed', on);
    this.draw();
  }

  // nextTab goes to the tab next to another one, and returns whether there is one.
  nextTab(tab, by) {
    const tabs = [...byID('tabs').querySelectorAll('button')], next = by && tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
    return !!next;
  }

  key(e) {
    const t = e.target;
    if (!(t instanceof Element) || document.querySelector('dialog[open]') || e.ctrlKey || e.metaKey || e.altKey || t.matches('textarea, select, input[type=text], input[type=search], input[type=range]')) return;
    const { time } = this;
    if (t.matches('[role=tab]') && this.nextTab(t, { ArrowLeft: -1, ArrowRight: 1 }[e.key])) return e.preventDefault();
    const rows = [...this.lanes.values()].find((l) => l.canvas === t);
    const act = {
      ArrowUp: () => (rows ? rows.move(-1) : t.id === 'list' ? this.step(-1) : null),
      ArrowDown: () => (rows ? rows.move(1) : t.id !== 'list' ? null : this.selected ? this.step(1) : this.choose(this.decisions.shown[0] ?? -1)),
      ',': () => time.show(time.now - (time.to - time.from) / 100), '.': () => time.show(time.now + (time.to - time.from) / 100),
      ArrowLeft: () => (e.shiftKey ? time.pan(-0.25) : this.step(-1)), ArrowRight: () => (e.shiftKey ? time.pan(0.25) : this.step(1)),
      ' ': () => (t.matches('button, input') ? null : time.play(!time.playing)),
      '+': () => time.zoom(0.7, time.at ?? undefined), '=': () => time.zoom(0.7, time.at ?? undefined), '-': () => time.zoom(1.4, time.at ?? undefined), 0: () => time.whole(),
      Home: () => time.show(0), End: () => time.follow(), f: () => time.follow(),
      l: () => { const w = byID('which'); w.value = w.value === 'lent' ? 'matters' : 'lent'; this.decisions.refresh(true); },
      t: () => this.tables(), c: () => this.critical(), d: () => this.swapTheme(), s: () => this.share(), '?': () => byID('help').showModal(), Escape: () => this.select(null),
    }[e.key];
    if (!act) return;
    if (this.early) this.early.push(e);
    else if (act() === null) return;
    e.preventDefault();
  }
}

byID('disk').remove();
const page = new Page();
page.open().catch((e) => page.lasts('loading', 'The page could not load the runs: ' + e.message));
