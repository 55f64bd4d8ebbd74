// This module has the panels below and next to the slots. They show jobs with their progress, curves
// of pools, kvbuffers, the shuffle matrix, and the differences between runs.

import { ask } from './api.js';
import { fit, ticks } from './draw.js';
import { element, GUTTER, table, wheel } from './lanes.js';
import { letter, MAP, size, span } from './model.js';

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
    const moment = [key, run.seq, time.at, time.end].join();
    if (this.moment === moment) return; // no number has changed
    this.moment = moment;
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
    // The counts of the newest moment also include maps that were restored or lost.
    if (this.page.time.at === null) [done.maps, done.reduces] = [job.maps_finished, job.reduces_finished];
    const copied = job.reduces ? this.copied(run, job, now, done) : 0;
    const set = (i, value, of, text) => {
      card.bars[i].p.value = of ? Math.min(1, value / of) : 0;
      card.bars[i].n.textContent = text;
    };
    set(0, done.maps, job.maps, `${Math.min(done.maps, job.maps)}/${job.maps}`);
    set(1, copied, 1, job.reduces ? Math.round(copied * 100) + ' %' : 'none');
    set(2, done.reduces, job.reduces, job.reduces ? `${Math.min(done.reduces, job.reduces)}/${job.reduces}` : 'none');
    let text = now < job.submit ? 'comes at ' + span(job.submit) : job.finish >= 0 && job.finish <= now ? job.state + (job.deadline >= 0 ? ' at ' + span(job.finish) : ' after ' + span(job.finish - job.submit)) : 'running';
    const late = job.deadline >= 0 && (job.finish >= 0 && job.finish <= now ? job.finish : now) > job.deadline;
    if (job.deadline >= 0) text += `, deadline ${span(job.deadline)}` + (late ? ': missed' : '');
    card.state.textContent = text;
    card.state.classList.toggle('late', late);
    card.root.style.opacity = now < job.submit ? 0.55 : 1;
  }

  // copied returns the share of the shuffle that is done: by recorded copies, or without them by the
  // copy phases that have ended.
  copied(run, job, now, done) {
    if (!run.fetches.seq.length) return done.copied / job.reduces;
    if (this.fetchesOf?.run !== run || this.fetchesOf.n !== run.fetches.seq.length) {
      const jobs = run.jobs.map(() => ({ at: [], sum: [] })), f = run.fetches;
      for (let i = 0; i < f.seq.length; i++) {
        const j = jobs[run.bars.job[f.bar[i]]];
        j.at.push(f.at[i]);
        j.sum.push((j.sum.at(-1) ?? 0) + f.maps[i]);
      }
      this.fetchesOf = { run, n: f.seq.length, jobs };
    }
    const j = this.fetchesOf.jobs[job.job];
    let low = 0, high = j.at.length;
    while (low < high) { const mid = (low + high) >> 1; if (j.at[mid] > now) high = mid; else low = mid + 1; }
    return Math.min(1, (low ? j.sum[low - 1] : 0) / (job.maps * job.reduces));
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
    this.root = [this.canvas, this.note, this.table];
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

  /** begin clears the canvas and returns its context. */
  begin() {
    const box = this.canvas.parentElement, { paint } = this.page;
    this.width = box.clientWidth;
    this.height = Math.max(60, box.clientHeight - 2);
    this.canvas.style.height = this.height + 'px';
    const ctx = fit(this.canvas, this.width, this.height, paint.ratio);
    ctx.fillStyle = paint.ground;
    ctx.fillRect(0, 0, this.width, this.height);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    return ctx;
  }

  say(text) {
    this.note.hidden = !text;
    this.canvas.hidden = !!text;
    this.note.textContent = text ?? '';
  }

  // later asks a question if key has changed, and calls done with the answer. It waits 120 ms, so that
  // dragging asks only once. During a live run it asks at most once a second, because the answer takes
  // core time from the run.
  later(key, question, params, done) {
    if (this.key === key) return;
    this.key = key;
    clearTimeout(this.timer);
    const since = performance.now() - (this.asked ?? 0), rest = this.page.run.over ? 120 : Math.max(120, 1000 - since);
    this.timer = setTimeout(async () => {
      this.asked = performance.now();
      this.request?.abort();
      this.request = new AbortController();
      try {
        done(await ask(question, params, this.request.signal));
        this.page.draw();
      } catch (e) {
        if (e.name !== 'AbortError') this.say(e.message);
      }
    }, this.answer ? rest : 0);
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

const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3]];

/** Shares draws the slots that each pool uses, and its fair share as a line. */
export class Shares extends Panel {
  constructor(page) {
    super(page);
    this.kind = element('select', { title: 'which slots are counted' }, ...['both', 'maps', 'reduces'].map((v) => element('option', { value: v, textContent: v === 'both' ? 'maps and reduces' : v })));
    this.kind.addEventListener('change', () => page.draw());
    this.options = [element('label', {}, 'count ', this.kind)];
  }

  draw() {
    const { page } = this, { run, time } = page;
    if (!run) return;
    const steps = Math.min(600, Math.max(50, Math.floor((this.canvas.parentElement.clientWidth - GUTTER) / 2)));
    const from = Math.round(time.from), to = Math.round(time.to);
    this.later([run.id, run.seq, from, to, steps].join(), 'curves', { run: run.id, from, to, steps }, (answer) => {
      this.answer = answer;
      this.of = run;
      this.describe();
    });
    if (!this.answer || this.of !== run) return this.say(run.bars.seq.length ? 'Adding up…' : 'No task has started yet.');
    this.say();
    const ctx = this.begin(), c = this.answer, { paint } = page;
    const sum = (p, a, b) => (i) => (this.kind.value === 'maps' ? p[a][i] : this.kind.value === 'reduces' ? p[b][i] : p[a][i] + p[b][i]);
    if (this.highest?.of !== c || this.highest.kind !== this.kind.value) { // once for each answer, not for each frame
      let most = Math.max(1, c.slots.map + c.slots.reduce);
      for (const p of c.pools.slice(0, 12)) {
        for (const f of [sum(p, 'maps', 'reduces'), sum(p, 'share_maps', 'share_reduces')]) {
          for (let i = 0; i < c.steps; i++) if (f(i) <= 1e6) most = Math.max(most, f(i));
        }
      }
      this.highest = { of: c, kind: this.kind.value, most };
    }
    const { most } = this.highest;
    const bottom = this.height - 4, top = 6;
    const y = (v) => bottom - (Math.min(v, most) / most) * (bottom - top);
    // While the window moves, the answer is still for an older window. The part outside of the canvas is
    // not drawn, because the dashes of a line that is 200 screens long take 100 ms.
    const x = (i) => Math.min(Math.max(GUTTER, this.x(c.from + i * c.step)), this.width);
    const first = Math.max(0, Math.floor((time.from - c.from) / c.step)), last = Math.min(c.steps, Math.ceil((time.to - c.from) / c.step));
    ctx.strokeStyle = paint.soft;
    ctx.fillStyle = paint.quiet;
    for (const v of new Set([0, Math.round(most / 2), Math.round(most)])) {
      ctx.beginPath();
      ctx.moveTo(GUTTER, y(v));
      ctx.lineTo(this.width, y(v));
      ctx.stroke();
      ctx.fillText(v + (v === Math.round(most) ? ' slots' : ''), 4, Math.min(bottom - 5, Math.max(7, y(v))));
    }
    const curve = (f, end) => {
      ctx.beginPath();
      for (let i = first, before; i < last; i++) { // a point only where the value changes
        const v = y(f(i));
        if (v === before) continue;
        if (before !== undefined) ctx.lineTo(x(i), before);
        ctx.lineTo(x(i), before = v);
      }
      if (first < last) ctx.lineTo(x(last), y(f(last - 1)));
      if (end) { ctx.lineTo(x(last), bottom); ctx.lineTo(x(first), bottom); }
    };
    c.pools.slice(0, 12).forEach((p, k) => {
      const hue = paint.hue(this.hueOf(run, p.pool));
      ctx.setLineDash([]);
      ctx.fillStyle = hue.tones.compute;
      ctx.globalAlpha = 0.22;
      const use = sum(p, 'maps', 'reduces');
      curve(use, true);
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.strokeStyle = hue.line;
      ctx.lineWidth = 2;
      curve(use);
      ctx.stroke();
      ctx.setLineDash([5, 3]);
      ctx.lineWidth = 1.4;
      curve(sum(p, 'share_maps', 'share_reduces'));
      ctx.stroke();
      ctx.setLineDash([]);
      const own = letter(this.hueOf(run, p.pool)), pool = run.pools[p.pool]?.name ?? '', name = pool === own ? own : own + ' ' + pool, place = this.place(use, c.steps);
      const px = Math.min(x(place) + 2, this.width - ctx.measureText(name).width - 6), py = Math.max(8, y(use(place)) - 7 - (k % 2) * 2);
      ctx.fillStyle = paint.ground;
      ctx.globalAlpha = 0.8;
      ctx.fillRect(px - 2, py - 7, ctx.measureText(name).width + 4, 13);
      ctx.globalAlpha = 1;
      ctx.fillStyle = paint.ink;
      ctx.fillText(name, px, py);
    });
    ctx.fillStyle = paint.quiet;
    ctx.fillText('solid: use', 4, top + 20);
    ctx.fillText('dashed: share', 4, top + 34);
    this.moment(ctx);
  }

  // place returns the first step at which a curve is highest. The name of the pool is written there.
  place(f, steps) {
    let best = 0;
    for (let i = 1; i < steps; i++) if (f(i) > f(best) + 1e-6) best = i;
    return best;
  }

  // hueOf returns the number of a pool's hue. If hues stand for jobs, it is that of the pool's first job.
  hueOf(run, pool) {
    if (this.page.hue === 'pool') return pool;
    const job = run.jobs.findIndex((j) => j.pool === pool);
    return job < 0 ? pool : job;
  }

  describe() {
    const c = this.answer, run = this.of, mean = (a) => (a.reduce((s, v) => s + v, 0) / a.length).toFixed(2);
    this.canvas.setAttribute('aria-label', `Slots in use and fair share of ${c.pools.length} pools. The table next to it has the means.`);
    this.table.replaceChildren(table('Means of the window, in slots', ['pool', 'maps#', 'their fair share#', 'reduces#', 'their fair share#'],
      c.pools.map((p) => [run.pools[p.pool]?.name ?? '', mean(p.maps), mean(p.share_maps), mean(p.reduces), mean(p.share_reduces)])));
  }
}

/** Buffers draws the kvbuffers of maps: their size, the mark, growth, refusals and spills. */
export class Buffers extends Panel {
  constructor(page) {
    super(page);
    this.options = [element('span', { className: 'key', textContent: 'line: size · dashes: spill mark · ×: growth refused · strip below: spill' })];
  }

  draw() {
    const { page } = this, { run, time, paint } = page;
    if (!run) return;
    if (!run.buffers.seq.length && !run.spills.seq.length) {
      return this.say(run.bars.seq.length ? 'These events have no kvbuffers. A simulation has them under cost l2 with a kvbuffer in the cluster; a real job has none if its output is not collected.' : 'No task has started yet.');
    }
    this.say();
    const ctx = this.begin(), b = run.buffers, steps = run.stepNames;
    const slots = run.lanes.filter((l) => run.bySlot.get(l.slot)?.some((bar) => run.bars.kind[bar] === MAP));
    const most = Math.max(1, ...b.to_bytes.filter((_, i) => steps[b.step[i]] === 'grow'), ...b.bytes.filter((_, i) => steps[b.step[i]] === 'begin'));
    const h = Math.max(16, (this.height - 4) / Math.max(1, slots.length));
    this.canvas.style.height = Math.max(this.height, h * slots.length + 4) + 'px';
    if (h * slots.length + 4 > this.height) fit(this.canvas, this.width, h * slots.length + 4, paint.ratio);
    slots.forEach((lane, i) => {
      const base = (i + 1) * h, y = (bytes) => base - 2 - (bytes / most) * (h - 6);
      ctx.fillStyle = paint.quiet;
      ctx.fillText('s' + lane.slot, 4, base - h / 2);
      if (i === 0) ctx.fillText('≤ ' + size(most), 4, base - h / 2 + 13);
      ctx.strokeStyle = paint.soft;
      ctx.beginPath(); ctx.moveTo(GUTTER, base - 1); ctx.lineTo(this.width, base - 1); ctx.stroke();
      for (const bar of run.bySlot.get(lane.slot)) {
        if (run.bars.from[bar] > Math.min(time.to, time.now) || run.until(bar) < time.from) continue;
        this.buffer(ctx, run, bar, y, base, h);
      }
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

  describe(run) {
    const key = run.id + ':' + run.buffers.seq.length + ':' + run.spills.seq.length;
    if (this.described === key) return;
    this.described = key;
    const b = run.buffers, rows = [];
    for (let i = Math.max(0, b.seq.length - 60); i < b.seq.length; i++) rows.push([run.taskName(b.bar[i]), span(b.at[i]), run.stepNames[b.step[i]], size(b.bytes[i]), size(b.to_bytes[i])]);
    this.canvas.setAttribute('aria-label', `kvbuffers: ${b.seq.length} steps, ${run.spills.seq.length} spills. Line: size; dashes: spill mark; cross: growth refused; black: spill. The table next to it has the last steps.`);
    this.table.replaceChildren(table('Steps of kvbuffers', ['task', 'at', 'step', 'bytes#', 'to#'], rows));
  }
}

/** Shuffle draws the matrix of maps by reduces of one job. */
export class Shuffle extends Panel {
  constructor(page) {
    super(page);
    this.job = element('select', { title: 'the job whose shuffle is shown' });
    this.job.addEventListener('change', () => page.draw());
    this.options = [element('label', {}, 'job ', this.job)];
  }

  draw() {
    const { page } = this, { run, time, paint } = page;
    if (!run) return;
    const jobs = run.jobs.filter((j) => j.reduces > 0), key = run.id + ':' + jobs.length;
    if (this.filled !== key) {
      this.filled = key;
      this.job.replaceChildren(...jobs.map((j) => element('option', { value: j.job, textContent: j.name })));
    }
    if (!jobs.length) return this.say('No job of this run has reduces.');
    const at = Math.round(Math.min(time.now, run.last)), most = 60;
    this.later([run.id, this.job.value, at, run.seq].join(), 'shuffle', { run: run.id, job: this.job.value, at, most }, (answer) => {
      this.answer = answer;
      this.describe(run);
    });
    if (!this.answer) return this.say('Adding up…');
    this.say();
    const ctx = this.begin(), m = this.answer;
    const side = Math.min((this.height - 22) / m.columns, (this.width - GUTTER - 160) / m.rows, 26);
    const most1 = Math.max(1, ...m.cells.map((c) => c.bytes));
    ctx.fillStyle = paint.quiet;
    ctx.fillText('maps →', GUTTER, 8);
    ctx.fillText('reduces ↓', 4, 22);
    const hue = paint.hue(run.hueOf(m.job, page.hue));
    for (let row = 0; row < m.rows; row++) { // a row of the matrix is a column on the screen
      for (let col = 0; col < m.columns; col++) {
        const cell = m.cells[row * m.columns + col], x = GUTTER + row * side, y = 16 + col * side, w = Math.max(1, side - 1);
        ctx.strokeStyle = paint.soft;
        if (side > 5) ctx.strokeRect(x + 0.5, y + 0.5, w - 1, w - 1);
        if (cell.done <= 0) continue;
        const part = w * Math.sqrt(cell.done); // the area is the share that is copied
        ctx.fillStyle = cell.bytes > most1 / 2 ? hue.line : hue.tones.compute;
        ctx.fillRect(x, y + w - part, part, part);
      }
    }
    const x = GUTTER + m.rows * side + 14, words = [`${m.maps} maps × ${m.reduces} reduces`, 'area: share copied', 'by ' + span(at), 'stronger: over half of', `the largest, ${size(most1)}`, m.measured ? 'measured' : 'estimated: output', m.measured ? '' : 'of the map ÷ reduces'];
    ctx.fillStyle = paint.quiet;
    words.forEach((t, i) => ctx.fillText(t, x, 22 + i * 15));
  }

  describe(run) {
    const m = this.answer, done = m.cells.reduce((s, c) => s + c.done, 0) / Math.max(1, m.cells.length);
    this.canvas.setAttribute('aria-label', `Shuffle of ${run.jobName(m.job)}: ${(done * 100).toFixed(0)} percent copied. The table next to it has a line for each reduce.`);
    const rows = [];
    for (let col = 0; col < Math.min(60, m.columns); col++) {
      let share = 0, bytes = 0;
      for (let row = 0; row < m.rows; row++) { share += m.cells[row * m.columns + col].done; bytes += m.cells[row * m.columns + col].bytes; }
      rows.push([String(col), ((share / Math.max(1, m.rows)) * 100).toFixed(0) + ' %', size(bytes)]);
    }
    this.table.replaceChildren(table('Shuffle by reduce', ['reduce', 'copied#', 'bytes#'], rows));
  }
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
    const head = ['', ...all.map((a) => a.run.policy + (runs.filter((r) => r.policy === a.run.policy).length > 1 ? ' ' + a.run.name : '') + '#')];
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
    p.append(`The first ${i} decisions about attempts are the same. Then they differ: `);
    for (const [run, row] of [[a, da[i]], [b, db[i]]]) {
      if (row === undefined) continue;
      const button = element('button', { textContent: `${run.policy} at ${span(run.decisions.at[row])}` });
      button.addEventListener('click', () => {
        this.page.focus(run);
        this.page.choose(row);
      });
      p.append(button, ' ');
    }
    return p;
  }
}
