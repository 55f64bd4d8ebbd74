// This module has the panels below and next to the slots. They show jobs with their progress, curves
// of pools, kvbuffers, the shuffle matrix, and the differences between runs.

import { ask } from './api.js';
import { axis, AXIS, fit, labels, sample, Stack } from './draw.js';
import { cursor, element, GUTTER, table, wheel } from './lanes.js';
import { counted, letter, lettered, MAP, REDUCE, size, span } from './model.js';

/** Jobs lists the jobs of a run. Each has three bars with its progress at the moment that is shown. */
export class Jobs {
  constructor(page) {
    this.page = page;
    this.box = document.getElementById('jobs');
    this.cards = [];
  }

  draw() {
    const { page } = this, { run, time } = page;
    if (!run) return;
    const most = 200; // a longer list is slow; the tables of mrlocal have all jobs
    const jobs = run.jobs.slice(0, most), key = run.id + ':' + jobs.length + page.hue + page.paint.theme;
    if (this.key !== key) {
      this.key = key;
      this.cards = jobs.map((j, i) => this.card(run, j, i));
      this.box.replaceChildren(...this.cards.map((c) => c.root));
      if (run.jobs.length > most) this.box.append(element('p', { className: 'note', textContent: `and ${run.jobs.length - most} more jobs` }));
    }
    const moment = [key, run.seq, run.over, page.unknown(run), time.at, time.end].join();
    if (this.moment === moment) return; // no number has changed
    this.moment = moment;
    this.box.previousElementSibling.textContent = 'Jobs' + (page.shown().length > 1 ? ' of ' + page.called(run) : '');
    jobs.forEach((j, i) => this.update(run, j, this.cards[i], time.now));
  }

  card(run, job, i) {
    const swatch = element('canvas', { width: 18, height: 14 }), page = this.page;
    const bars = ['maps', 'shuffle', 'reduces'].map((name) => {
      const p = element('progress', { max: 1, value: 0 }), n = element('span');
      p.setAttribute('aria-label', `${job.name}: ${name}`);
      return { p, n, root: element('div', { className: 'bar' }, element('span', { textContent: name }), p, n) };
    });
    const state = element('div', { className: 'state' }), small = element('small');
    const root = element('div', { className: 'job' }, element('div', { className: 'name' }, swatch, element('b', { textContent: job.name }), small), ...bars.map((b) => b.root), state);
    const ratio = page.paint.ratio, ctx = fit(swatch, 18, 14, ratio), group = run.hueOf(i, page.hue);
    page.paint.bar(ctx, { x: 0, y: 0, w: 18, h: 14, hue: group, letter: letter(group), task: '', segments: [['compute', 0, 18]], spills: [], lent: '' });
    const pool = run.pools[job.pool];
    const own = pool && pool.name === job.name;
    small.textContent = (own || !pool ? '' : 'pool ' + pool.name) + (pool && pool.weight !== 1e6 ? ` ×${pool.weight / 1e6}` : '');
    return { root, bars, state };
  }

  update(run, job, card, now) {
    const done = run.doneAt(job.job, now);
    const set = (i, value, of, text) => {
      card.bars[i].p.value = of ? Math.min(1, value / of) : 0;
      card.bars[i].n.textContent = text;
    };
    const maps = job.sealed || job.finish >= 0;
    set(0, done.maps, maps && job.maps, maps ? `${done.maps}/${job.maps}` : `${done.maps} so far`);
    set(1, done.shuffle, 1, job.reduces ? Math.round(done.shuffle * 100) + ' %' : 'none');
    set(2, done.reduces, job.reduces, job.reduces ? `${done.reduces}/${job.reduces}` : 'none');
    let text = now < job.submit ? 'comes at ' + span(job.submit) : job.finish >= 0 && job.finish <= now ? job.state + ' at ' + span(job.finish) + (job.submit > 0 && job.deadline < 0 ? `, ${span(job.finish - job.submit)} after it came` : '') : this.page.unknown(run) ? 'ran when the server was lost' : run.over && now >= run.last ? 'ran when the events ended' : 'running';
    const late = job.deadline >= 0 && (job.finish >= 0 && job.finish <= now ? job.finish : now) > job.deadline;
    if (job.deadline >= 0) text += `, deadline ${span(job.deadline)}` + (late ? ': missed' : '');
    card.state.textContent = text;
    card.state.classList.toggle('late', late);
  }
}

// Panel is a canvas with a table for screen readers. Its data is the answer to a question, which later
// asks again after the window or the run has changed.
class Panel {
  constructor(page) {
    this.page = page;
    this.canvas = element('canvas', { role: 'img', tabIndex: 0 });
    this.table = element('div', { className: 'sr' });
    this.note = element('p', { className: 'note', hidden: true });
    this.root = [this.canvas, this.note, this.table, cursor((t) => this.x(t))];
    this.canvas.addEventListener('pointermove', (e) => {
      if (this.at) page.hover(this.time(e.offsetX), `${span(Math.round(this.time(e.offsetX)))} · ${this.at(this.time(e.offsetX), e.offsetY)}`, e.clientX, e.clientY);
    });
    this.canvas.addEventListener('pointerleave', () => page.hover(null));
    this.canvas.addEventListener('wheel', (e) => wheel(page, e, this.time(e.offsetX)), { passive: false });
  }

  time(x) {
    const { from, to } = this.page.time;
    return from + ((x - GUTTER) / (this.width - GUTTER - 6)) * (to - from);
  }

  x(t) {
    const { from, to } = this.page.time;
    return GUTTER + ((t - from) / (to - from)) * (this.width - GUTTER - 6);
  }

  /** begin clears the canvas, which is as high as its box or at least as high as least, and returns its context. */
  begin(least = 60) {
    const box = this.canvas.parentElement, { paint } = this.page;
    this.width = box.clientWidth;
    this.height = Math.max(least, box.clientHeight - 2 - (this.line?.offsetHeight ?? 0) - (document.body.classList.contains('tables') ? this.table.offsetHeight : 0));
    this.canvas.style.height = this.height + 'px';
    const ctx = fit(this.canvas, this.width, this.height, paint.ratio);
    ctx.fillStyle = paint.ground;
    ctx.fillRect(0, 0, this.width, this.height);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    return ctx;
  }

  axis(ctx) {
    axis(ctx, this.page.paint, this.page.time, (t) => this.x(t), { left: GUTTER, right: this.width, height: this.height });
  }

  /** keys returns entries of the legend: words, and a function that draws the sign. */
  keys() { return []; }

  say(text) {
    this.note.hidden = !text;
    this.canvas.hidden = !!text;
    this.note.textContent = text ?? '';
  }

  // later asks questions if key has changed, and calls done with the answers. asks has the name and the
  // parameters of each. It waits 120 ms, so that dragging asks only once. During a live run it asks at most
  // once a second, because the answer takes core time from the run.
  later(key, asks, done) {
    if (this.key === key) return;
    this.key = key;
    clearTimeout(this.timer);
    const since = performance.now() - (this.asked ?? 0), rest = this.page.run?.over ? 120 : Math.max(120, 1000 - since);
    this.timer = setTimeout(async () => {
      this.asked = performance.now();
      this.request?.abort();
      this.request = new AbortController();
      try {
        const { signal } = this.request;
        this.answers = await Promise.all(asks.map(([question, params]) => ask(question, params, signal)));
        done(this.answers);
        this.page.draw();
      } catch (e) {
        if (e.name !== 'AbortError' && !this.answers && !this.page.away) this.say(e.message); // else the last answer stays
      }
    }, this.answers ? rest : 0);
  }

  moment(ctx) {
    const { time, paint } = this.page;
    if (time.at === null) return;
    const x = Math.round(this.x(time.at)) + 0.5;
    ctx.strokeStyle = paint.accent;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x, 0);
    ctx.lineTo(x, this.height);
    ctx.stroke();
  }
}

const definitions = [['own', 'of the policy'], ['per-kind', 'by kind of slots'], ['together', 'of all slots together']], words = (sharing) => definitions.find(([value]) => value === sharing)[1];

// slots returns a number of slots in words.
function slots(n) { return counted(+n.toFixed(1), 'slot'); }

// cut returns the end of a text that is as wide as fits. The names of files differ at their ends.
function cut(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let from = 1;
  while (from < text.length && ctx.measureText('…' + text.slice(from)).width > width) from++;
  return '…' + text.slice(from);
}

// poolName returns the name of a pool. A curve of a live run may have a pool that the page learns with its next question.
const poolName = (run, pool) => run.pools[pool]?.name ?? 'a new pool';

/**
 * Shares draws a row for each run: the slots that its pools use, on top of each other, maps below reduces. Over
 * the slots of a pool that is below its fair share, the slots that it lacks are hatched.
 */
export class Shares extends Panel {
  constructor(page) {
    super(page);
    this.share = element('select', { title: 'the definition of the fair share' }, ...definitions.map(([value, textContent]) => element('option', { value, textContent })));
    this.share.addEventListener('change', () => {
      this.chosen = true;
      page.draw();
    });
    this.options = [element('label', {}, 'fair share ', this.share)];
    this.line = element('div', { className: 'below' });
    this.root = [this.line, ...this.root];
    this.of = []; // the runs of answers
  }

  draw() {
    const { page } = this, { time } = page, runs = page.shown().filter((r) => r.lanes.length);
    if (!runs.length) return;
    const steps = Math.min(600, Math.max(50, Math.floor((this.canvas.parentElement.clientWidth - GUTTER) / 2)));
    // Runs are compared by one definition, unless the reader chooses that of each policy.
    const differ = new Set(runs.map((r) => r.sharing).filter((s) => s !== 'none')).size > 1;
    if (!this.chosen) this.share.value = differ ? 'together' : 'own';
    const from = Math.round(time.from), to = Math.round(time.to), sharing = this.share.value === 'own' ? undefined : this.share.value;
    const asks = runs.map((r) => ['curves', { run: r.id, from, to, steps, sharing }]), belows = runs.map((r) => ['below', { run: r.id, sharing }]);
    this.later([from, to, steps, sharing, ...runs.map((r) => r.id + ':' + r.seq)].join(), [...asks, ...belows], (answers) => {
      this.of = runs.map((run, i) => ({ run, curves: answers[i], below: answers[runs.length + i], picture: new Stack() }));
      this.differ = differ;
      this.owns = differ && !sharing;
      this.list();
      this.describe();
    });
    const of = this.of.filter((o) => runs.includes(o.run));
    if (!of.length) return this.say(runs.some((r) => r.bars.seq.length) ? 'Adding up…' : 'No task has started yet.');
    this.say();
    const least = this.least, ctx = this.begin(least), row = (this.height - this.top(least)) / of.length;
    if (this.top(least)) this.axis(ctx);
    of.forEach((o, i) => this.row(ctx, o, this.top(least) + i * row, row, of.length > 1));
    this.moment(ctx);
  }

  get least() { return (this.owns ? 58 : 46) * this.of.length; }

  // yardstick returns by which definition a run is measured, if the runs differ in this.
  yardstick(o) { return this.owns && o.curves.sharing !== 'none' ? words(o.curves.sharing) : ''; }

  // top returns where the rows begin. If there is no room for an axis, that of the lanes must do.
  top(least = this.least) { return this.height < AXIS + least ? 0 : AXIS; }

  // row draws the row of a run, from the place top on.
  row(ctx, o, top, height, named) {
    const { page } = this, { paint, time } = page, { run, curves: c } = o, bottom = top + height - 3, head = top + 4;
    const stacks = this.stacks(run, c), most = Math.max(1, c.slots.map + c.slots.reduce, stacks.most);
    const y = (v) => bottom - (Math.min(v, most) / most) * (bottom - head);
    // While the window moves, the answer is still for an older window. The part outside of the canvas is not drawn.
    const x = (i) => Math.min(Math.max(GUTTER, this.x(c.from + i * c.step)), this.width);
    const first = Math.max(0, Math.floor((time.from - c.from) / c.step)), last = Math.min(c.steps, Math.ceil((time.to - c.from) / c.step));
    ctx.strokeStyle = paint.soft;
    for (const v of [0, most]) {
      ctx.beginPath();
      ctx.moveTo(GUTTER, y(v));
      ctx.lineTo(this.width, y(v));
      ctx.stroke();
    }
    ctx.fillStyle = paint.quiet;
    ctx.fillText(slots(Math.round(most)), 4, head + 5);
    ctx.fillText('0', 4, bottom - 5);
    if (named) {
      const lines = [page.called(run), this.yardstick(o)].filter(Boolean), mid = (head + bottom) / 2;
      lines.forEach((words, i) => ctx.fillText(cut(ctx, words, GUTTER - 8), 4, mid + 12 * (i - (lines.length - 1) / 2)));
    }
    if (first >= last) return;
    const n = Math.max(1, Math.floor((this.width - GUTTER - 6) * paint.ratio)), column = (time.to - time.from) / n;
    const place = (i) => { const k = Math.floor((time.from + (i + 0.5) * column - c.from) / c.step); return k < c.steps ? k : -1; };
    const layers = () => [...stacks.layers.map((s) => ({ ...s, line: paint.ground, tile: paint.kind(s.hue, s.kind === MAP ? 'compute' : 'reduce') })),
      ...stacks.lacking.map((s) => ({ ...s, tile: paint.lacking() }))];
    o.picture.draw(ctx, paint, [page.hue, time.from, time.to].join(), { x: GUTTER, y: head, n, height: bottom - head, most }, layers, place);
    labels(ctx, paint, stacks.names, x, y, first, last);
  }

  // stacks returns the layers of a row, from the lowest: for each pool its maps and then its reduces.
  stacks(run, c) {
    if (c.stacks?.hue === this.page.hue) return c.stacks; // once for each answer, not for each frame
    const layers = [], lacking = [], names = [];
    let most = 0, top = new Float32Array(c.steps); // the sum of what is below
    c.pools.forEach((p, k) => {
      const sign = this.sign(run, p.pool, k), low = top;
      for (const [kind, use] of [[MAP, p.maps], [REDUCE, p.reduces]]) {
        const layer = { kind, hue: sign.hue, name: sign.key ?? sign.text, low: top, high: top.slice() };
        top = layer.high;
        for (let i = 0; i < c.steps; i++) top[i] += use[i];
        layers.push(layer);
      }
      const high = top.slice(), lack = (i) => (p.share_maps.length ? Math.max(0, p.share_maps[i] - p.maps[i]) + Math.max(0, p.share_reduces[i] - p.reduces[i]) : p.share[i] - p.maps[i] - p.reduces[i]);
      let lacks = false;
      for (let i = 0; i < p.share.length; i++) {
        if (lack(i) < 0.999) continue; // as the list has it: a slot or more
        high[i] += lack(i);
        most = Math.max(most, high[i]);
        lacks = true;
      }
      if (lacks) lacking.push({ low: top, high });
      names.push({ text: sign.text, low, high: top });
    });
    for (const v of top) most = Math.max(most, v);
    return (c.stacks = { hue: this.page.hue, layers, lacking, names, most });
  }

  // sign returns the hue and the name of a pool; pool -1 stands for all further pools. If hues stand for jobs, only a
  // pool with one job has that job's.
  sign(run, pool, k) {
    if (pool < 0) return { hue: k % 2 ? -1 : -2, text: `${run.pools.length - k} more pools` };
    const name = poolName(run, pool), jobs = run.jobs.filter((j) => j.pool === pool);
    const own = this.page.hue === 'pool' ? pool : jobs.length === 1 ? jobs[0].job : -1;
    if (own < 0) return { hue: k % 2 ? -1 : -2, text: name, key: `${name} (several jobs)` };
    return { hue: own, text: lettered(name, own) };
  }

  keys() {
    const stacks = this.of.map((o) => o.curves.stacks).filter(Boolean), all = stacks.flatMap((s) => s.layers), keys = [];
    for (const hue of [-2, -1]) {
      const names = [...new Set(all.filter((l) => l.hue === hue).map((l) => l.name))];
      if (names.length) keys.push([names.length < 4 ? names.join(', ') : 'pools of several jobs', sample((paint) => paint.tile(paint.hue(hue).tones.compute))]);
    }
    if (stacks.some((s) => s.lacking.length)) keys.push(['slots that a pool lacks of its share', sample((paint) => paint.lacking())]);
    return keys;
  }

  // list writes the definition, and the times in which pools were below their shares. A click shows one of them.
  list() {
    const lines = [], none = [];
    if (this.differ) {
      const { sharing, definition } = this.of[0].curves;
      const textContent = this.owns ? 'Each run is measured by the fair share of its own policy, so they cannot be compared.' : `${this.of.length > 2 ? 'All' : 'Both'} runs are measured by one fair share, ${words(sharing)}.`;
      lines.push(element('div', { className: 'by', title: this.owns ? '' : definition, textContent }));
    }
    for (const o of this.of) {
      const { run, curves, below } = o, all = below.times, name = this.page.called(run) + (this.yardstick(o) ? ` (${this.yardstick(o)})` : '');
      if (curves.sharing !== 'none' && !below.large && !all.length) none.push(name);
      const buttons = all.slice(0, 40).map((b) => {
        const button = element('button', { textContent: `${poolName(run, b.pool)}, ${span(b.from)} to ${span(b.to)}, ${slots(b.slots)}` });
        button.addEventListener('click', () => {
          const around = (b.to - b.from) / 4;
          this.page.focus(run);
          this.page.time.window(b.from - around, b.to + around);
        });
        return button;
      });
      const about = curves.sharing === 'none' ? `${name}: ${curves.definition}`
        : below.large ? 'the run is too large to list who was below its share' : all.length ? `${this.of.length > 1 ? name + ': ' : ''}below its share (hatched): ` : '';
      if (about) lines.push(element('div', { title: curves.definition }, about, ...buttons, all.length > 40 ? ` and ${all.length - 40} more` : ''));
    }
    if (none.length) lines.push(element('div', { textContent: `${this.of.length > 1 ? none.join(', ') + ': ' : ''}no pool was below its share for longer than 1 % of the run` }));
    this.line.replaceChildren(...lines);
  }

  /** at returns the values at a time as text, for the cursor. py is a place on the canvas. */
  at(t, py) {
    const o = this.of[Math.floor((py - this.top()) / ((this.height - this.top()) / this.of.length))];
    if (!o) return '';
    const { run, curves: c } = o, i = Math.min(c.steps - 1, Math.max(0, Math.floor((t - c.from) / c.step)));
    const round = (v) => +v.toFixed(1);
    return c.pools.map((p) => `${run.pools[p.pool]?.name ?? 'other pools'} ${counted(round(p.maps[i]), 'map')}, ${counted(round(p.reduces[i]), 'reduce')}` + (p.share.length ? `, fair share ${round(p.share[i])}` : '')).join('; ');
  }

  describe() {
    const mean = (a) => (a.length ? (a.reduce((s, v) => s + v, 0) / a.length).toFixed(2) : '');
    this.canvas.setAttribute('aria-label', `Slots in use and fair share of pools under ${this.of.map((o) => this.page.called(o.run)).join(', ')}. The table next to it has the means.`);
    this.table.replaceChildren(...this.of.map(({ run, curves: c }) => table(`Means of the window, in slots, ${this.page.called(run)}: ${c.definition}`, ['pool', 'maps#', 'reduces#', 'fair share#'],
      c.pools.map((p) => [run.pools[p.pool]?.name ?? 'other pools', mean(p.maps), mean(p.reduces), mean(p.share)]))));
  }
}

/** Buffers draws the kvbuffers of maps: their size, the mark, growth, refusals and spills. */
export class Buffers extends Panel {
  constructor(page) {
    super(page);
    this.options = [element('span', { className: 'key', textContent: 'line: size of the kvbuffer · dashes: spill mark · ×: growth refused · strip below: spill' })];
    this.line = element('p', { className: 'told' });
    this.root = [this.line, ...this.root];
  }

  draw() {
    const { page } = this, { run, time, paint } = page;
    if (!run) return;
    this.line.textContent = '';
    if (!run.buffers.seq.length && !run.spills.seq.length) {
      return this.say(run.bars.seq.length ? 'These events have no kvbuffers. A simulation has them under cost l2 with a kvbuffer in the cluster; a real job has none if its output is not collected.' : 'No task has started yet.');
    }
    this.say();
    const b = run.buffers, steps = run.stepNames;
    const slots = run.lanes.filter((l) => run.bySlot.get(l.slot)?.some((bar) => run.bars.kind[bar] === MAP));
    const most = Math.max(1, ...b.to_bytes.filter((_, i) => steps[b.step[i]] === 'grow'), ...b.bytes.filter((_, i) => steps[b.step[i]] === 'begin'));
    this.line.textContent = (page.shown().length > 1 ? page.called(run) + ': ' : '') + grown(run, Math.min(time.now, run.last));
    const ctx = this.begin(AXIS + 16 * slots.length + 4), h = (this.height - AXIS - 4) / Math.max(1, slots.length);
    Object.assign(this, { slots, h });
    this.axis(ctx);
    slots.forEach((lane, i) => {
      const base = AXIS + (i + 1) * h, y = (bytes) => base - 2 - (bytes / most) * (h - 6);
      ctx.fillStyle = paint.quiet;
      ctx.fillText('s' + lane.slot, 4, base - h / 2);
      ctx.strokeStyle = paint.soft;
      ctx.textAlign = 'right';
      for (const [bytes, at] of [[most, y(most) + 6], [0, base - 6]]) { // rows that are too low for both have only the first
        ctx.strokeRect(GUTTER - 4, y(bytes), this.width - GUTTER + 4, 0);
        if (h > 26 || (bytes && (h > 14 || !i))) ctx.fillText(bytes ? size(bytes) : '0', GUTTER - 6, at);
      }
      ctx.textAlign = 'left';
      ctx.save(); // nothing of the time before the window is drawn over the labels
      ctx.beginPath();
      ctx.rect(GUTTER, 0, this.width - GUTTER, this.height);
      ctx.clip();
      for (const bar of run.bySlot.get(lane.slot)) {
        if (run.bars.from[bar] > Math.min(time.to, time.now) || run.until(bar) < time.from) continue;
        this.buffer(ctx, run, bar, y, base, h);
      }
      ctx.restore();
    });
    this.moment(ctx);
    this.describe(run);
  }

  buffer(ctx, run, bar, y, base, h) {
    const { paint, hue, time } = this.page, b = run.buffers, steps = run.stepNames, c = paint.hue(run.hueOf(run.bars.job[bar], hue));
    let from = run.bars.from[bar], bytes = 0, mark = 0;
    const flat = (to) => {
      if (bytes <= 0) return;
      const x0 = Math.max(GUTTER, this.x(from)), x1 = Math.min(this.width, this.x(Math.min(to, time.now)));
      if (x1 < GUTTER || x0 > this.width) return;
      ctx.fillStyle = c.tones.copy;
      ctx.fillRect(x0, y(bytes), Math.max(1, x1 - x0), base - 2 - y(bytes));
      ctx.fillStyle = c.line;
      ctx.fillRect(x0, y(bytes), Math.max(1, x1 - x0), 1.5);
      if (mark > 0) for (let x = x0; x < x1; x += 6) ctx.fillRect(x, y(mark), 3, 1);
    };
    for (let r = run.buffer.first[bar]; r >= 0; r = run.buffer.next[r]) {
      const step = steps[b.step[r]], x = this.x(b.at[r]);
      if (b.at[r] > time.now) break;
      if (step === 'begin') { bytes = b.bytes[r]; mark = b.to_bytes[r]; from = b.at[r]; }
      if (step === 'grow') {
        if (bytes === 0) bytes = b.bytes[r];
        flat(b.at[r]);
        mark = bytes > 0 ? (mark * b.to_bytes[r]) / bytes : 0;
        bytes = b.to_bytes[r];
        from = b.at[r];
      }
      if (step === 'refuse') {
        ctx.strokeStyle = paint.ink;
        ctx.lineWidth = 1.5;
        ctx.beginPath(); ctx.moveTo(x - 3, base - h / 2 - 3); ctx.lineTo(x + 3, base - h / 2 + 3); ctx.moveTo(x + 3, base - h / 2 - 3); ctx.lineTo(x - 3, base - h / 2 + 3); ctx.stroke();
      }
    }
    flat(run.until(bar));
    ctx.fillStyle = paint.ink;
    for (let r = run.spill.first[bar]; r >= 0; r = run.spill.next[r]) {
      if (run.spills.from[r] > time.now) break;
      const x0 = this.x(run.spills.from[r]);
      ctx.fillRect(x0, base - 6, Math.max(1.5, this.x(run.spills.to[r]) - x0), 4);
    }
  }

  /** at returns the size of the kvbuffer of a slot at a time. */
  at(t, py) {
    const { run } = this.page, lane = this.slots?.[Math.floor((py - AXIS) / this.h)], bar = lane ? run.barAt(lane.slot, t) : -1;
    if (bar < 0) return '';
    let bytes = 0;
    for (let r = run.buffer.first[bar]; r >= 0 && run.buffers.at[r] <= t; r = run.buffer.next[r]) {
      const step = run.stepNames[run.buffers.step[r]];
      if (step === 'begin') bytes = run.buffers.bytes[r];
      if (step === 'grow') bytes = run.buffers.to_bytes[r];
    }
    return `${run.taskName(bar)}, kvbuffer ${size(bytes)}`;
  }

  describe(run) {
    const key = run.id + ':' + run.buffers.seq.length + ':' + run.spills.seq.length;
    if (this.described === key) return;
    this.described = key;
    const b = run.buffers, rows = [];
    for (let i = Math.max(0, b.seq.length - 60); i < b.seq.length; i++) rows.push([run.taskName(b.bar[i]), span(b.at[i]), run.stepNames[b.step[i]], size(b.bytes[i]), size(b.to_bytes[i])]);
    this.canvas.setAttribute('aria-label', `kvbuffers: ${counted(b.seq.length, 'step')}, ${counted(run.spills.seq.length, 'spill')}. Line: size; dashes: spill mark; cross: growth refused; black: spill. The table next to it has the last steps.`);
    this.table.replaceChildren(table('Steps of kvbuffers', ['task', 'at', 'step', 'bytes#', 'to#'], rows));
  }
}

// grown says in words which kvbuffers have grown by a time, which could not, and how much was spilled.
function grown(run, at) {
  const b = run.buffers, s = run.spills, bars = new Set(), refused = new Set(), grew = new Map();
  let spills = 0, bytes = 0;
  for (let i = 0; i < b.seq.length && b.at[i] <= at; i++) {
    const step = run.stepNames[b.step[i]], bar = b.bar[i];
    bars.add(bar);
    if (step === 'refuse') refused.add(bar);
    if (step === 'grow') grew.set(bar, { from: b.bytes[i], at: b.at[i], ...grew.get(bar), to: b.to_bytes[i] });
  }
  for (let i = 0; i < s.seq.length; i++) {
    if (s.from[i] > at) continue;
    bars.add(s.bar[i]);
    spills++;
    bytes += s.bytes[i];
  }
  const most = [...grew].sort(([, x], [, y]) => y.to - x.to), names = most.slice(0, 3).map(([bar, g]) => `${run.taskName(bar)} from ${size(g.from)} to ${size(g.to)} at ${span(g.at)}`);
  const growth = grew.size ? `${grew.size} of ${counted(bars.size, 'kvbuffer')} grew: ${names.join(', ')}${grew.size > 3 ? ` and ${grew.size - 3} more` : ''}.` : `None of ${counted(bars.size, 'kvbuffer')} grew.`;
  return `By ${span(at)}: ${growth}${refused.size ? ` ${refused.size} could not grow further.` : ''} ${spills ? `${counted(spills, 'spill')} wrote ${size(bytes)}.` : 'Nothing was spilled.'}`;
}

// named returns the name of row or column i of n, which has one or several of total tasks.
function named(letter, i, n, total) {
  const first = Math.ceil((i * total) / n), last = Math.ceil(((i + 1) * total) / n) - 1;
  return letter + (first < last ? `${first}–${last}` : first);
}

/** Shuffle draws the matrix of maps by reduces of one job: how much each reduce has copied of each map. */
export class Shuffle extends Panel {
  constructor(page) {
    super(page);
    this.job = element('select', { title: 'the job whose shuffle is shown' });
    this.job.addEventListener('change', () => page.draw());
    this.about = element('span', { className: 'key' });
    this.options = [element('label', {}, 'job ', this.job), ' ', this.about];
    this.line = element('p', { className: 'told' });
    this.root = [this.line, ...this.root];
  }

  draw() {
    const { page } = this, { run, time, paint } = page;
    if (!run) return;
    const jobs = run.jobs.filter((j) => j.reduces > 0), key = run.id + ':' + jobs.length;
    if (this.filled !== key) {
      this.filled = key;
      this.job.replaceChildren(...jobs.map((j) => element('option', { value: j.job, textContent: j.name })));
    }
    if (!jobs.length) {
      this.line.textContent = '';
      return this.say('No job of this run has reduces.');
    }
    const at = Math.round(Math.min(time.now, run.last)), most = 60;
    const asks = [at, run.last].map((t) => ['shuffle', { run: run.id, job: this.job.value, at: t, most }]);
    this.later([run.id, this.job.value, at, run.seq].join(), asks, ([answer, whole]) => {
      this.answer = answer;
      this.largest = Math.max(0, ...whole.cells.map((c) => c.bytes));
      this.whole = whole;
      this.about.textContent = `${counted(answer.maps, 'map')} × ${counted(answer.reduces, 'reduce')} · ${answer.measured ? 'measured' : 'estimated: output of the map ÷ reduces'}`;
      this.line.textContent = (page.shown().length > 1 ? page.called(run) + ': ' : '') + waits(run, answer, at);
      this.describe(run);
    });
    if (!this.answer) return this.say('Adding up…');
    this.say();
    this.matrix(run, this.answer, paint.hue(run.hueOf(this.answer.job, page.hue)).line);
  }

  // amount returns how much a cell has, as a share of the largest one. Without bytes, all cells are as large.
  amount(cell) { return this.largest ? cell.bytes / this.largest : cell.done; }

  // matrix draws a row for each reduce, with a bar for each map and one for the sum.
  matrix(run, m, colour) {
    const { paint } = this.page, top = 18, ctx = this.begin(top + 16 * m.columns);
    const names = (letter, n, total) => Array.from({ length: n }, (_, i) => named(letter, i, n, total));
    const reduces = names('r', m.columns, m.reduces), maps = names('m', m.rows, m.maps), wide = (all) => Math.max(...all.map((t) => ctx.measureText(t).width));
    const said = m.cells.map((c) => (this.largest ? size(c.bytes) : '100 %')), sums = this.sums(m), ends = this.sums(this.whole), most = Math.max(...ends.map((s) => s.amount));
    const left = wide(reduces) + 12, text = Math.max(64, wide(said) + 8), sum = Math.max(text + 40, Math.min(360, this.width * 0.3)), column = Math.min(64, (this.width - left - sum - 16) / m.rows);
    const right = left + m.rows * column + 16, row = Math.min(64, (this.height - top) / m.columns), every = Math.ceil((wide(maps) + 6) / column);
    ctx.fillStyle = paint.ink;
    maps.forEach((name, i) => { if (i % every === 0) ctx.fillText(name, left + i * column, 9); });
    ctx.fillText('sum', right, 9);
    reduces.forEach((name, c) => {
      const bottom = Math.round(top + (c + 1) * row) - 3, high = row - 5;
      ctx.fillStyle = paint.ink;
      ctx.fillText(name, 4, bottom - high / 2);
      ctx.fillText(this.largest ? size(sums[c].bytes) : `${Math.round((100 * sums[c].done) / m.rows)} %`, right, bottom - high / 2);
      ctx.fillStyle = paint.line;
      ctx.fillRect(left, bottom, m.rows * column, 1);
      for (let r = 0; r < m.rows; r++) this.bar(ctx, colour, left + r * column, bottom, Math.max(1, column - 2), high, [m, this.whole].map((of) => this.amount(of.cells[r * m.columns + c])));
      const scale = (this.width - right - text - 8) / most, thick = Math.min(high, 16), y = Math.round(bottom - (high + thick) / 2);
      ctx.fillStyle = colour;
      ctx.fillRect(right + text, y, sums[c].amount * scale, thick);
      ctx.strokeStyle = colour;
      ctx.strokeRect(right + text + 0.5, y + 0.5, Math.max(0, ends[c].amount * scale - 1), thick - 1);
    });
  }

  // bar draws what is copied of a cell, and an outline as high as what is copied at the end.
  bar(ctx, colour, x, bottom, width, high, [now, end]) {
    ctx.fillStyle = colour;
    ctx.fillRect(x, bottom - high * now, width, high * now);
    if (end <= now || width < 4) return;
    ctx.strokeStyle = colour;
    ctx.strokeRect(x + 0.5, bottom - high * end + 0.5, width - 1, high * end);
  }

  // sums returns the sums of a matrix by reduce.
  sums(m) {
    return Array.from({ length: m.columns }, (_, column) => {
      const cells = m.cells.filter((_, i) => i % m.columns === column), add = (f) => cells.reduce((sum, c) => sum + f(c), 0);
      return { bytes: add((c) => c.bytes), done: add((c) => c.done), amount: add((c) => this.amount(c)) };
    });
  }

  keys() {
    if (!this.answer?.cells.length) return [];
    const bar = (paint, ctx, part) => this.bar(ctx, paint.ink, 8, 12, 10, 11, [part, 1]);
    return [[this.largest ? `copied; the full height is ${size(this.largest)}` : 'copied; the full height is all', (paint, ctx) => bar(paint, ctx, 1)], ['not copied yet', (paint, ctx) => bar(paint, ctx, 0.3)]];
  }

  describe(run) {
    const m = this.answer, done = m.cells.reduce((s, c) => s + c.done, 0) / Math.max(1, m.cells.length);
    this.canvas.setAttribute('aria-label', `Shuffle of ${run.jobName(m.job)}: ${(done * 100).toFixed(0)} percent copied. The table next to it has a line for each reduce.`);
    const rows = this.sums(m).map((s, i) => [named('r', i, m.columns, m.reduces), ((s.done / Math.max(1, m.rows)) * 100).toFixed(0) + ' %', size(s.bytes)]);
    this.table.replaceChildren(table('Shuffle by reduce', ['reduce', 'copied#', 'bytes#'], rows));
  }
}

// waits says in words how far the shuffle m of a job is at a time, and who waits for whom.
function waits(run, m, at) {
  const b = run.bars, done = new Set(), copying = new Set(), begun = new Map();
  let last = -1;
  for (let bar = 0; bar < b.seq.length; bar++) {
    if (b.job[bar] !== m.job || b.from[bar] > at) continue;
    const ended = run.to[bar] >= 0 && run.to[bar] <= at;
    if (b.kind[bar] === MAP && ended && run.howName(bar) === 'ok') {
      done.add(b.task[bar]);
      if (last < 0 || run.to[bar] > run.to[last]) last = bar;
    }
    if (b.kind[bar] !== REDUCE) continue;
    begun.set(b.task[bar], Math.min(begun.get(b.task[bar]) ?? Infinity, b.from[bar]));
    if (!ended) run.segments(bar, (phase, from, to) => { if (phase === 'copy' && from <= at && at <= to) copying.add(b.task[bar]); });
  }
  const bytes = m.cells.reduce((sum, c) => sum + c.bytes, 0), share = m.cells.reduce((sum, c) => sum + c.done, 0) / Math.max(1, m.cells.length);
  const copied = bytes ? `${m.measured ? '' : 'about '}${size(bytes)}` : `${Math.round(share * 100)} %`, by = span(at);
  const left = Array.from({ length: m.maps }, (_, i) => i).filter((i) => !done.has(i)), names = (all, of) => all.slice(0, 4).map((i) => of + i).join(', ') + (all.length > 4 ? ` and ${all.length - 4} more` : '');
  const maps = `${counted(m.maps, 'map')} ${m.maps === 1 ? 'is' : 'are'}`;
  if (!begun.size) return `By ${by} no reduce has started, so nothing is copied; ${done.size} of ${maps} done.`;
  const who = copying.size ? `${names([...copying].sort((x, y) => x - y), 'r')} ${copying.size > 1 ? 'wait' : 'waits'}` : '';
  if (left.length) return `By ${by} the reduces have copied ${copied}. ${who ? `${who} for ${left.length} of ${counted(m.maps, 'map')}: ${names(left, 'm')}.` : `${left.length} of ${maps} not done.`}`;
  const early = [...begun.values()].filter((from) => from < run.to[last]), most = Math.max(...early.map((from) => run.to[last] - from));
  const waited = early.length ? ` ${early.length === 1 ? 'One reduce' : early.length + ' reduces'} waited for the last map, m${b.task[last]} on slot ${b.slot[last]}, for up to ${span(most)}.` : ' No reduce had to wait: each started after the last map.';
  if (share < 0.9999) return `By ${by} all maps are done, and the reduces have copied ${copied}, ${Math.floor(share * 100)} % of the pairs.${who ? ` ${who.replace(/ waits?$/, '')} still ${copying.size > 1 ? 'copy' : 'copies'}.` : ''}${waited}`;
  const sums = Array.from({ length: m.columns }, (_, col) => m.cells.reduce((sum, c, i) => sum + (i % m.columns === col ? c.bytes : 0), 0)), [least, largest] = [Math.min(...sums), Math.max(...sums)];
  const name = (sum) => `${m.columns < m.reduces ? 'those around r' : 'r'}${Math.floor((sums.indexOf(sum) * m.reduces) / m.columns)}`, mean = (sum) => size(Math.round((sum * m.columns) / m.reduces));
  const parts = largest - least < largest / 100 ? 'equal parts' : `${name(largest)} the most, ${mean(largest)}, and ${name(least)} the least, ${mean(least)}`;
  return `${m.reduces === 1 ? 'The reduce has' : `The ${m.reduces} reduces have`} copied ${m.maps === 1 ? 'the output of the map' : `all outputs of the ${m.maps} maps`}${bytes ? `, ${copied}: ${parts}` : ''}.${waited}`;
}

/** Differences compares the runs that are shown in a table. */
export class Differences {
  constructor(page) {
    this.page = page;
    this.box = element('div');
    this.root = [this.box];
    this.options = [];
  }

  draw() {
    const { page } = this, runs = page.shown().filter((r) => r.opNames), key = runs.map((r) => r.id + ':' + r.seq).join(); // only loaded runs
    if (key === this.key) return;
    this.key = key;
    const all = runs.map((r) => ({ run: r, f: r.figures(), metrics: page.metrics?.get(r.id) }));
    const first = all[0];
    if (!first) return;
    const rel = (v, base) => (all.length > 1 && base > 0 && v !== base ? ` (${v > base ? '+' : '−'}${Math.abs((v / base - 1) * 100).toFixed(1)} %)` : '');
    const row = (name, value, show) => [name, ...all.map((a) => (value(a) === undefined ? '' : show(value(a)) + rel(value(a), value(first))))];
    const rows = [
      row('makespan', (a) => a.f.makespan, span),
      row('mean job time', (a) => a.f.mean, span),
      row('Jain index', (a) => a.metrics?.jain, (v) => v.toFixed(3)),
      row('use of home slots', (a) => a.f.use, (v) => (v * 100).toFixed(1) + ' %'),
      row('moves', (a) => a.metrics?.moves, String),
      row('attempts on lent slots', (a) => a.f.lent, String),
      row('lent slot-time', (a) => a.f.lentTime, span),
      row('copies', (a) => a.f.copies, String),
      row('killed', (a) => a.f.kills, String),
      row('failed', (a) => a.f.failed, String),
    ].filter((r) => r.slice(1).some((t) => t !== ''));
    for (const j of first.run.jobs.slice(0, 100)) {
      rows.push(row('job ' + j.name, (a) => {
        const x = a.run.jobs.find((o) => o.name === j.name);
        return x && x.finish >= 0 ? x.finish - x.submit : undefined;
      }, span));
    }
    const head = ['', ...all.map((a) => page.called(a.run) + '#')];
    this.box.replaceChildren(table('Differences between runs', head, rows));
    if (all.length === 2) this.box.append(this.firstDifference(all[0].run, all[1].run));
    if (all.length < 2) this.box.append(element('p', { className: 'note', textContent: 'Choose a second run above to compare it on the same axis of time.' }));
  }

  firstDifference(a, b) {
    const pick = (r) => {
      const d = r.decisions, start = r.opNames.indexOf('start'), kill = r.opNames.indexOf('kill');
      return d.op.map((op, i) => (op === start || op === kill ? i : -1)).filter((i) => i >= 0);
    };
    const da = pick(a), db = pick(b);
    const same = (i, j) => {
      const x = a.decisions.bar[i], y = b.decisions.bar[j];
      return a.decisions.op[i] === b.decisions.op[j] && x >= 0 && y >= 0 && ['slot', 'job', 'kind', 'task', 'n'].every((c) => a.bars[c][x] === b.bars[c][y]);
    };
    let i = 0;
    while (i < Math.min(da.length, db.length) && same(da[i], db[i])) i++;
    const p = element('p', { className: 'note' });
    if (i >= da.length && i >= db.length) {
      p.textContent = 'Both runs made the same decisions about attempts.';
      return p;
    }
    p.append(i === 1 ? 'The first decision about an attempt is the same. Then they differ: ' : `The first ${i} decisions about attempts are the same. Then they differ: `);
    for (const [run, row] of [[a, da[i]], [b, db[i]]]) {
      if (row === undefined) continue;
      const button = element('button', { textContent: `${this.page.called(run)} at ${span(run.decisions.at[row])}` });
      button.addEventListener('click', () => {
        this.page.focus(run);
        this.page.choose(row);
      });
      p.append(button, ' ');
    }
    return p;
  }
}
