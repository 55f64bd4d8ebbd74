// Lanes draws one run: a row for each slot, and time from left to right.

import { axis, AXIS, fit, LEAST_NAMED, LEAST_WIDE, sample, sign } from './draw.js';
import { bandsOf, count, LEAST, MOST_ROWS, place } from './folded.js';
import { counted, firstAfter, MAP, span } from './model.js';

const EVERY = 'every band'; // unfolded, instead of the name of one band
export const GUTTER = 84; // the width of the labels, in CSS pixels
const LEAST_ROW = 11, GOOD_ROW = 14, MOST_ROW = 72, GAP = 4;

/** element returns an element with properties and children. A child that is a text never becomes markup. */
export function element(name, properties = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in e) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

/**
 * cursor returns the line of a drawing at the time under the pointer. x returns the place of a time. whole: the drawing
 * is of the whole run, and not of the window.
 */
export const cursor = (x, whole = false) => Object.assign(element('i', { className: 'cursor', hidden: true }), { x, whole });

export class Lanes {
  constructor(page, run) {
    this.page = page;
    this.run = run;
    this.canvas = element('canvas', { role: 'img', tabIndex: 0 });
    this.spacer = element('div');
    this.scroll = element('div', { className: 'scroll' }, this.canvas, this.spacer, cursor((t) => this.x(t)));
    this.words = element('span');
    this.fold = element('button', { hidden: true });
    this.fold.addEventListener('click', (e) => {
      e.stopPropagation();
      this.unfold(this.open ? '' : EVERY);
    });
    this.other = element('button', { hidden: true });
    this.other.addEventListener('click', (e) => {
      e.stopPropagation();
      this.scroll.scrollTop = this.tops[this.hidden] - AXIS;
    });
    this.title = element('h2', { tabIndex: 0 }, this.words, this.fold, ' ', this.other);
    this.title.addEventListener('click', () => page.focus(run));
    this.title.addEventListener('keydown', (e) => e.key === 'Enter' && e.target === this.title && page.focus(run));
    this.table = element('div', { className: 'sr' });
    this.root = element('div', { className: 'lanes' }, this.title, this.scroll);
    this.scroll.addEventListener('scroll', () => page.scrolled(this));
    this.listen();
    new ResizeObserver(() => page.draw()).observe(this.scroll);
  }

  /** remove takes the run off the page. */
  remove() {
    this.root.remove();
    this.table.remove();
  }

  // layout sets the bands, the rows and their places. Extra slots have a row once something has run there.
  layout() {
    const { run, open } = this;
    this.all = run.lanes.filter((l) => !l.extra || run.bySlot.has(l.slot));
    const many = this.all.length > MOST_ROWS;
    if (!many) this.folds = [];
    else if (this.folded !== this.all.length) this.folds = bandsOf(this.all);
    this.folded = this.all.length;
    this.bands = open === EVERY ? [] : this.folds.filter((b) => b.name !== open);
    this.rows = this.bands.length ? this.folds.find((b) => b.name === open)?.lanes ?? [] : this.all;
    const gaps = new Set(this.rows.map((l) => l.tracker)).size - 1;
    this.width = this.scroll.clientWidth;
    this.height = this.scroll.clientHeight;
    // One or two bands stay above the rows of another one, and more stand below, so that both kinds of slots are in sight.
    // If the rows can do with less, all bands are in sight, and otherwise three.
    const above = this.bands.length < 3, high = LEAST + GAP, free = this.height - AXIS - gaps * GAP - 2;
    const room = free - Math.max(Math.min(this.bands.length, 3) * high, Math.min(this.bands.length * high, free - this.rows.length * GOOD_ROW));
    this.fold.hidden = !many;
    this.fold.textContent = open ? 'fold the slots' : `unfold ${this.all.length} slots`;
    this.row = Math.min(MOST_ROW, Math.max(LEAST_ROW, room / Math.max(1, this.rows.length)));
    const fill = this.rows.length ? 0 : this.height - AXIS - 2;
    let y = AXIS;
    if (this.bands.length && above) y = place(this.bands, y, fill, GAP) + (this.rows.length ? GAP : 0);
    this.tops = this.rows.map((l, i) => {
      if (i > 0 && l.tracker !== this.rows[i - 1].tracker) y += GAP;
      const top = y;
      y += this.row;
      return top;
    });
    if (!above) y = place(this.bands, this.rows.length ? y + GAP : y, fill, GAP);
    const whole = Math.floor(y + 2);
    this.spacer.style.height = Math.max(0, whole - this.height) + 'px';
    this.canvas.style.height = this.height + 'px';
    this.hop();
    if (this.high !== this.height && this.page.selected?.run === run) this.into(this.page.selected.slot);
    this.high = this.height;
  }

  /** need returns the height that the run needs on the screen; Infinity: all that there is. */
  get need() { return this.rows && !this.folds.length ? this.root.offsetHeight - this.height + AXIS + this.rows.length * MOST_ROW + GAP * new Set(this.rows.map((l) => l.tracker)).size : Infinity; }

  /** want returns the height at which the rows of the run are seen well. */
  get want() { return this.rows ? this.title.offsetHeight + AXIS + this.bands.length * (LEAST + GAP) + this.rows.length * GOOD_ROW + GAP * new Set(this.rows.map((l) => l.tracker)).size : 0; }

  // hop offers the slots of the kind that has rows, but none in sight.
  hop() {
    const top = this.scroll.scrollTop + AXIS, bottom = top + this.height - AXIS, kinds = new Set(this.all.map((l) => l.home));
    const seen = new Set([...this.bands.map((b) => b.kind), ...this.rows.filter((_, i) => this.tops[i] + this.row > top && this.tops[i] < bottom).map((l) => l.home)]);
    const kind = [...kinds].find((k) => !seen.has(k));
    this.hidden = this.rows.findIndex((l) => l.home === kind);
    this.other.hidden = !kind || this.hidden < 0;
    if (!this.other.hidden) this.other.textContent = `${kind} slots ${this.tops[this.hidden] < top ? '↑' : '↓'}`;
  }

  x(t) { return GUTTER + ((t - this.page.time.from) / (this.page.time.to - this.page.time.from)) * (this.width - GUTTER - 6); }

  time(x) {
    const { from, to } = this.page.time;
    return from + ((x - GUTTER) / (this.width - GUTTER - 6)) * (to - from);
  }

  draw() {
    const { run, page } = this, { paint, time } = page;
    if (!run.lanes.length) {
      this.words.textContent = run.name + ': waits for the first event';
      return;
    }
    this.layout();
    const begun = performance.now();
    this.head();
    const ctx = fit(this.canvas, this.width, this.height, paint.ratio);
    ctx.fillStyle = paint.ground;
    ctx.fillRect(0, 0, this.width, this.height);
    const scrolled = this.scroll.scrollTop;
    axis(ctx, paint, time, (t) => this.x(t), { left: GUTTER, right: this.width, height: this.height });
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, AXIS, this.width, this.height - AXIS);
    ctx.clip();
    this.drawn = this.lent = this.lost = this.behinds = 0;
    this.slots(ctx, scrolled);
    if (this.bands.length) this.stacks(ctx, scrolled);
    if (time.at !== null && !time.playing && !page.hides) {
      ctx.fillStyle = paint.ground;
      ctx.globalAlpha = 0.55;
      ctx.fillRect(Math.max(GUTTER, this.x(time.at)), AXIS, this.width, this.height);
      ctx.globalAlpha = 1;
    }
    if (page.drawsPath) this.path(ctx, scrolled);
    this.selection(ctx, scrolled);
    if (page.lesson?.guess?.run === run) this.guess(ctx, scrolled, page.lesson.guess);
    this.deadlines(ctx);
    this.moment(ctx);
    ctx.restore();
    this.frame = performance.now() - begun;
    // For tests of the page: the bars of this picture, and how long it took in milliseconds.
    Object.assign(this.canvas.dataset, { bars: this.drawn, lent: this.lent, behind: this.behinds, lost: this.lost, bands: this.bands.length, path: page.drawsPath ? run.path?.links.length ?? 0 : 0, frame: this.frame.toFixed(1) });
  }

  // slots draws a row for each slot.
  slots(ctx, scrolled) {
    const { paint } = this.page;
    for (let i = 0; i < this.rows.length; i++) { // before the labels, which may extend into the next row
      if (this.rows[i].tracker % 2 === 0) continue;
      ctx.fillStyle = paint.band;
      ctx.fillRect(0, this.tops[i] - scrolled, this.width, this.row);
    }
    for (let i = 0; i < this.rows.length; i++) {
      const y = this.tops[i] - scrolled;
      if (y + this.row < AXIS || y > this.height) continue;
      this.lane(ctx, this.rows[i], i, y);
    }
  }

  // stacks draws the bands.
  stacks(ctx, scrolled) {
    const { paint, time, hue, hides } = this.page, { run } = this;
    const now = time.playing || hides ? this.page.now : Infinity, n = Math.max(1, Math.floor((this.width - GUTTER - 6) * paint.ratio));
    count(this.folds, run, hue);
    const { base } = this.page;
    this.before = base ? this.before ?? bandsOf(base.lanes.filter((l) => !l.extra)) : [];
    if (base) count(this.before, base, hue);
    ctx.font = '11px system-ui, sans-serif';
    for (const band of this.bands) {
      const before = this.before.find((b) => b.name === band.name);
      band.show(run, time, n, now, before);
      this.behinds += before?.all.begun(time.from, time.to, now) ?? 0;
      band.draw(ctx, paint, run, band.top - scrolled, GUTTER, hue);
      ctx.fillStyle = paint.ink;
      ctx.fillText(band.name, 4, band.top - scrolled + 10);
      ctx.fillStyle = paint.quiet;
      ctx.fillText(counted(band.slots, 'slot'), 4, band.top - scrolled + 24);
      this.drawn += band.drawn;
      this.lent += band.lentBars;
      this.lost += band.lostLanes;
    }
  }

  /** keys returns entries of the legend for what is folded, and for the run that was changed. */
  keys() {
    const others = this.bands?.some((b) => b.groups?.some((g) => g.group < 0)), keys = [];
    if (others) keys.push([`grey: all other ${this.page.hue}s`, sample((paint) => paint.tile(paint.hue(-1).tones.compute))]);
    if (this.page.base) keys.push(['before the change', sample((paint) => paint.tile(paint.soft))]);
    return keys;
  }

  /** unfold shows each slot of a band, by its name, or of every band; '' folds all. Runs side by side do the same. */
  unfold(open = EVERY) {
    for (const l of this.page.lanes.values()) l.open = open;
    this.page.draw();
  }

  // path draws the critical path: its attempts, and lines from what each of them waited for.
  path(ctx, scrolled) {
    const { run, page } = this, links = run.path?.links ?? [];
    const row = new Map(this.rows.map((l, i) => [l.slot, this.tops[i] - scrolled]));
    ctx.strokeStyle = page.paint.accent;
    let before = null; // the place at which the link before ended
    for (const { bar, ready } of links) {
      const top = row.get(run.bars.slot[bar]);
      if (top === undefined) continue; // folded
      const from = this.x(Math.max(run.bars.from[bar], Math.min(ready, run.until(bar)))), to = this.x(run.until(bar));
      ctx.lineWidth = 2.5;
      ctx.strokeRect(from, top + 1, Math.max(1, to - from), this.row - 3);
      if (before) {
        ctx.lineWidth = 1.5;
        ctx.beginPath();
        ctx.moveTo(before.x, before.y);
        ctx.lineTo(from, top + this.row / 2);
        ctx.stroke();
      }
      before = { x: to, y: top + this.row / 2 };
    }
  }

  // guess draws the answer of a lesson's reader: what is right, and beside it what is not.
  guess(ctx, scrolled, { at, right, wrong }) {
    const { paint } = this.page, x = this.x(at);
    ctx.font = '600 12px system-ui, sans-serif';
    ctx.lineWidth = 2;
    const said = [];
    this.rows.forEach((l, i) => {
      const text = right.includes(l.slot) ? '✓ right' : wrong.includes(l.slot) ? '✕ your guess' : '';
      if (!text) return;
      said.push(text);
      const w = Math.min(ctx.measureText(text).width + 12, this.width - GUTTER), left = Math.min(x + 2, this.width - w), y = this.tops[i] - scrolled, h = this.row - 3;
      ctx.fillStyle = paint.ground;
      ctx.fillRect(left, y + 1, w, h);
      ctx.strokeStyle = ctx.fillStyle = right.includes(l.slot) ? paint.ink : paint.accent;
      ctx.setLineDash(right.includes(l.slot) ? [] : [5, 3]);
      ctx.strokeRect(left, y + 1, w, h);
      if (h > 10) ctx.fillText(text, left + 6, y + 1 + h / 2);
    });
    ctx.setLineDash([]);
    this.canvas.dataset.guess = said; // for tests of the page
  }

  head() {
    const { run, page } = this;
    this.title.classList.toggle('focused', page.run === run);
    const key = [run.seq, run.ended, run.over, page.unknown(run), page.hides, page.time.at, this.all.length].join();
    if (this.headed === key) return; // nothing in the heading has changed
    this.headed = key;
    const words = [run.policy];
    if (run.name && run.name !== run.policy) words.push(run.name);
    const m = page.metrics.get(run.id);
    if (page.hides) words.push('lesson');
    else if (run.ended) words.push('makespan ' + span(Math.max(0, ...run.jobs.map((j) => (j ? j.finish : 0)))));
    else if (page.unknown(run)) words.push('cut off at ' + span(run.last));
    else if (!run.over) words.push('goes on, ' + span(run.last));
    else words.push('ended early');
    if (m) words.push(`mean ${m.mean_job_s === undefined ? '-' : +m.mean_job_s.toFixed(1) + ' s'}`, `Jain ${m.jain.toFixed(3)}`, `use ${(m.utilisation * 100).toFixed(1)} %`, counted(m.moves, 'move'));
    if (run.dropped) words.push(`${counted(run.dropped, 'row')} left out: the run has too many`);
    this.words.textContent = words.join(' · ') + ' '; // it may be cut on the screen; the tab Differences shows all
    this.canvas.setAttribute('aria-label', `Slots of ${words.join(', ')}. ${counted(run.bars.seq.length, 'attempt')} on ${counted(this.all.length, 'slot')}. The table next to it lists those near the moment that is shown.`);
    this.title.title = page.time.at === null ? '' : 'at ' + span(page.time.at);
  }

  lane(ctx, lane, i, y) {
    const { paint, time, hue } = this.page, { run, row } = this;
    this.label(ctx, lane, i, y);
    const bars = run.bySlot.get(lane.slot) ?? [];
    const h = Math.max(3, row - (row > 12 ? 3 : 1)), top = y + (row - h) / 2;
    ctx.strokeStyle = paint.soft;
    ctx.beginPath();
    ctx.moveTo(GUTTER, Math.round(y + row) - 0.5);
    ctx.lineTo(this.width, Math.round(y + row) - 0.5);
    ctx.stroke();
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, y - 2, this.width - GUTTER, row + 4);
    ctx.clip();
    if (this.page.base) this.behind(ctx, lane, y);
    const lost = run.lostAt(lane);
    if (lost <= Math.min(time.now, time.to)) {
      this.lost++;
      paint.lost(ctx, Math.max(GUTTER, this.x(lost)), top, this.width, h);
    }
    // Bars after the moment are drawn pale. While time is played, or in a lesson, they are not drawn.
    const now = time.playing || this.page.hides ? this.page.now : Infinity, density = new Density(paint, top, h), letters = new Letters();
    for (let k = firstAfter(bars, (bar) => run.until(bar) >= time.from); k < bars.length; k++) {
      const bar = bars[k], from = run.bars.from[bar];
      if (from > time.to || from > now) break;
      this.drawn++;
      if (run.bars.lent[bar]) this.lent++;
      const to = Math.min(run.until(bar), now), x0 = this.x(from), x1 = this.x(to);
      const group = run.hueOf(run.bars.job[bar], hue);
      if (x1 - x0 < LEAST_WIDE && h >= LEAST_NAMED) letters.add(Math.max(x0, GUTTER), x1, run.letterOf(bar, group), group);
      if (x1 - x0 < 2) {
        density.add(x0, x1, group, run.bars.lent[bar]);
        continue;
      }
      density.flush();
      paint.bar(ctx, this.shape(bar, x0, x1, top, h, group, now));
    }
    density.flush();
    paint.flush(ctx);
    for (const r of letters.runs) {
      paint.label(ctx, { x: r.from, y: top, w: r.to - r.from, h, letter: r.letter, segments: [], over: true }, paint.hue(r.group));
    }
    ctx.restore();
  }

  // behind draws the bars of the run that was changed: pale, as high as the row, each with its outline.
  behind(ctx, lane, y) {
    const { paint, base, time } = this.page;
    ctx.fillStyle = paint.soft;
    ctx.strokeStyle = paint.line;
    ctx.lineWidth = 1;
    for (const bar of base.bySlot.get(this.slotBefore(lane)) ?? []) {
      const x0 = this.x(base.bars.from[bar]), w = this.x(base.until(bar)) - x0;
      if (base.until(bar) < time.from || base.bars.from[bar] > time.to) continue;
      this.behinds++;
      ctx.fillRect(x0, y, w, this.row - 1);
      if (w > 4) ctx.strokeRect(x0 + 0.5, y + 0.5, w - 1, this.row - 2);
    }
  }

  // slotBefore returns the slot of the run that was changed with the same tracker, home kind and place among these, for a
  // lane; undefined: there is none.
  slotBefore(lane) {
    const { run, page: { base } } = this;
    if (this.pairs?.base !== base || this.pairs.lanes !== run.lanes) {
      const of = placed(base.lanes);
      this.pairs = { base, lanes: run.lanes, slots: new Map(Array.from(placed(run.lanes), ([place, slot]) => [slot, of.get(place)])) };
    }
    return this.pairs.slots.get(lane.slot);
  }

  /** shape returns the argument of Paint.bar for a bar, without its part after now. */
  shape(bar, x0, x1, y, h, group, now) {
    const { run } = this, b = run.bars, segments = [], spills = [];
    const left = GUTTER - 3, right = this.width + 3; // bars are cut just outside of the canvas
    const cut = (x) => Math.min(Math.max(x, left), right);
    run.segments(bar, (phase, from, to) => {
      if (from <= now) segments.push([phase, cut(this.x(from)), cut(this.x(Math.min(to, now)))]);
    });
    for (let s = run.spill.first[bar]; s >= 0; s = run.spill.next[s]) {
      if (run.spills.from[s] <= now) spills.push([cut(this.x(run.spills.from[s])), cut(this.x(Math.min(run.spills.to[s], now)))]);
    }
    const over = run.to[bar] >= 0 && run.to[bar] <= now, how = over ? run.howName(bar) : 'running';
    x0 = cut(x0);
    x1 = cut(x1);
    return {
      x: x0, y, w: Math.max(1, x1 - x0), h, hue: group, segments, spills,
      letter: run.letterOf(bar, group),
      task: (b.kind[bar] === MAP ? 'm' : 'r') + b.task[bar],
      lent: b.lent[bar] ? sign[b.kind[bar] === MAP ? 'lent-map' : 'lent-reduce'].mark : '',
      copy: b.speculative[bar], killed: how === 'killed' || how === 'lost', failed: how === 'failed',
    };
  }

  // label draws the label of row i: tracker, core, slot and the badge of the home kind.
  label(ctx, lane, i, y) {
    const { paint } = this.page, { row } = this;
    const first = i === 0 || this.rows[i - 1].tracker !== lane.tracker;
    const mid = y + row / 2;
    ctx.textBaseline = 'middle';
    if (first && this.all.at(-1).tracker > 0) {
      ctx.fillStyle = paint.ink;
      ctx.font = '600 11px system-ui, sans-serif';
      ctx.fillText('T' + lane.tracker, 4, Math.max(mid, y + 6));
    }
    const side = Math.min(15, row - 1), x = GUTTER - 6 - side, top = mid - side / 2, map = lane.home === 'map';
    ctx.strokeStyle = paint.line;
    ctx.fillStyle = map ? paint.ink : paint.ground;
    ctx.setLineDash(lane.extra ? [2, 2] : []);
    ctx.fillRect(x, top, side, side);
    ctx.strokeRect(x + 0.5, top + 0.5, side - 1, side - 1);
    ctx.setLineDash([]);
    if (row < 11) { // in narrow rows, only some rows have room for a name
      if (i % Math.ceil(13 / row) === 0) this.name(ctx, lane, x, mid);
      return;
    }
    ctx.font = `600 ${Math.min(11, row - 3)}px system-ui, sans-serif`;
    ctx.fillStyle = map ? paint.ground : paint.ink;
    ctx.textAlign = 'center';
    ctx.fillText(lane.extra ? 'X' : map ? 'M' : 'R', x + side / 2, mid + 0.5);
    ctx.textAlign = 'left';
    this.name(ctx, lane, x, mid);
  }

  // name writes core and slot to the left of a badge.
  name(ctx, lane, x, mid) {
    ctx.textAlign = 'right';
    ctx.fillStyle = this.page.paint.quiet;
    ctx.font = '11px system-ui, sans-serif';
    ctx.fillText((lane.core >= 0 ? 'c' + lane.core + '·' : '') + 's' + lane.slot, x - 4, mid + 0.5);
    ctx.textAlign = 'left';
  }

  selection(ctx, scrolled) {
    const { page, run } = this, s = page.selected;
    if (!s || s.run !== run) return;
    const i = this.rows.findIndex((l) => l.slot === s.slot);
    if (i < 0) return;
    const y = this.tops[i] - scrolled, h = Math.max(3, this.row - (this.row > 12 ? 3 : 1)), top = y + (this.row - h) / 2;
    if (s.bar >= 0) {
      const x0 = this.x(run.bars.from[s.bar]), x1 = this.x(run.until(s.bar));
      if (x1 < GUTTER || x0 > this.width) return;
      const shape = this.shape(s.bar, x0, Math.max(x1, x0 + 4), top, h, run.hueOf(run.bars.job[s.bar], page.hue), Infinity);
      page.paint.bar(ctx, { ...shape, selected: true });
    } else if (s.at !== undefined) { // an idle moment
      const x = this.x(s.at);
      ctx.strokeStyle = page.paint.accent;
      ctx.lineWidth = 2;
      ctx.setLineDash([3, 2]);
      ctx.strokeRect(x - 5, top, 10, h);
      ctx.setLineDash([]);
    }
  }

  // deadlines draws a line with words at the deadline of each job, if these are few.
  deadlines(ctx) {
    const { paint, time } = this.page, jobs = this.run.jobs.filter((j) => j.deadline >= time.from && j.deadline <= time.to), said = [];
    if (jobs.length > 8) return;
    ctx.font = '11px system-ui, sans-serif';
    for (const j of jobs) {
      const x = Math.round(this.x(j.deadline)), text = `deadline of ${j.name}`, wide = ctx.measureText(text).width + 6, left = x + wide > this.width ? x - wide - 1 : x + 1;
      const bottom = this.height - 2 - 16 * said.length;
      for (const [colour, thick] of [[paint.ground, 5], [paint.ink, 2]]) { // also on bars
        ctx.strokeStyle = colour;
        ctx.lineWidth = thick;
        ctx.setLineDash(thick === 2 ? [6, 4] : []);
        ctx.beginPath();
        ctx.moveTo(x, AXIS);
        ctx.lineTo(x, this.height);
        ctx.stroke();
      }
      ctx.setLineDash([]);
      ctx.fillStyle = paint.ground;
      ctx.fillRect(left, bottom - 14, wide, 14);
      ctx.fillStyle = paint.ink;
      ctx.fillText(text, left + 3, bottom - 7);
      said.push(text);
    }
    this.canvas.dataset.deadlines = said; // for tests of the page
  }

  // moment draws the line of the moment that is shown, and the window that the reader is dragging.
  moment(ctx) {
    const { paint, time, brush } = this.page;
    if (time.at !== null) {
      const x = Math.round(this.x(time.at)) + 0.5;
      ctx.strokeStyle = paint.accent;
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.moveTo(x, AXIS);
      ctx.lineTo(x, this.height);
      ctx.stroke();
    }
    if (brush && brush.lanes) {
      ctx.fillStyle = paint.accent;
      ctx.globalAlpha = 0.2;
      ctx.fillRect(this.x(brush.from), AXIS, this.x(brush.to) - this.x(brush.from), this.height);
      ctx.globalAlpha = 1;
    }
  }

  /** hit returns the run, slot, time and bar (-1: none) under a point of the canvas; null: no slot. */
  hit(x, y) {
    if (!this.tops || x < GUTTER || y < AXIS) return null;
    y += this.scroll.scrollTop;
    const i = firstAfter(this.tops, (top) => top > y) - 1;
    if (i < 0 || y > this.tops[i] + this.row) return null;
    const at = this.time(x), slot = this.rows[i].slot;
    const slack = ((this.page.time.to - this.page.time.from) / Math.max(1, this.width - GUTTER)) * 1.5;
    return { run: this.run, slot, at, bar: this.run.barAt(slot, at, slack) };
  }

  /** band returns the band under a place; undefined: there is none. */
  band(y) {
    y += this.scroll.scrollTop;
    return this.bands?.find((b) => y >= b.top && y <= b.top + b.height);
  }

  /** reveal unfolds the band of a slot, and scrolls so that the slot is visible. */
  reveal(slot) {
    if (!this.run.lanes.length) return;
    if (!this.rows) this.layout(); // before the first picture, as for an address with a selection
    const band = this.bands.find((b) => b.lanes.some((l) => l.slot === slot));
    if (band) this.unfold(band.name);
    for (const l of this.page.lanes.values()) l.layout(); // so that the others can scroll along
    this.into(slot);
  }

  // into scrolls so that the row of a slot is in sight, if it has one.
  into(slot) {
    const i = this.rows.findIndex((l) => l.slot === slot);
    if (i < 0) return;
    const top = this.tops[i] - AXIS, bottom = this.tops[i] + this.row - this.height;
    if (this.scroll.scrollTop > top) this.scroll.scrollTop = top;
    if (this.scroll.scrollTop < bottom) this.scroll.scrollTop = bottom + 4;
  }

  /** move selects the slot that is a number of rows below the selected one, at the moment that is shown. */
  move(by) {
    const { page, run } = this, s = page.selected, last = this.all.length - 1;
    if (page.hides) return;
    const i = s?.run === run ? this.all.findIndex((l) => l.slot === s.slot) + by : by > 0 ? 0 : last;
    const { slot } = this.all[Math.min(Math.max(0, i), last)], at = Math.min(page.time.now, run.last);
    this.reveal(slot);
    page.pick({ run, slot, at, bar: run.barAt(slot, at + 0.5) });
  }

  listen() {
    const { page, canvas } = this;
    let start = null;
    fingers(page, canvas, (x) => this.time(x), () => { start = null; });
    canvas.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return;
      start = { x: e.offsetX, y: e.offsetY };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', (e) => {
      if (e.pointerType === 'touch') return;
      if (start && Math.abs(e.offsetX - start.x) > 4) {
        const [a, b] = [this.time(start.x), this.time(e.offsetX)].sort((p, q) => p - q);
        page.brush = { from: Math.max(0, a), to: b, lanes: true };
        page.draw();
      } else if (!start) {
        const band = this.band(e.offsetY), at = this.time(e.offsetX);
        const words = band ? `${span(Math.round(at))} · ${band.words(this.run, (e.offsetX - GUTTER) / (this.width - GUTTER - 6), page.hue)}` : page.words(this.hit(e.offsetX, e.offsetY));
        page.hover(e.offsetX < GUTTER ? null : at, e.offsetX < GUTTER ? '' : words, e.clientX, e.clientY);
      }
    });
    canvas.addEventListener('pointerleave', () => page.hover(null));
    canvas.addEventListener('pointerup', (e) => {
      const { brush } = page;
      page.brush = null;
      if (start && brush) page.time.window(brush.from, brush.to);
      else if (start && this.band(e.offsetY)) this.unfold(this.band(e.offsetY).name);
      else if (start) page.pick(this.hit(e.offsetX, e.offsetY));
      start = null;
    });
    canvas.addEventListener('pointercancel', () => { start = page.brush = null; page.draw(); });
    canvas.addEventListener('wheel', (e) => wheel(page, e, this.time(e.offsetX)), { passive: false });
  }

  /** describe fills the table for screen readers with the last attempts that had started by now. */
  describe() {
    const { run, page } = this, most = 60;
    const bars = run.bars.from, at = page.now;
    const last = firstAfter(bars, (t) => t > at), first = Math.max(0, last - most);
    const rows = [];
    for (let bar = first; bar < last; bar++) {
      const lane = run.lane(run.bars.slot[bar]);
      const marks = [run.bars.lent[bar] ? 'lent' : '', run.bars.speculative[bar] ? 'copy' : '', run.howName(bar)].filter(Boolean).join(', ');
      rows.push([run.taskName(bar), `slot ${run.bars.slot[bar]} (${lane?.home})`, span(run.bars.from[bar]), run.to[bar] < 0 ? 'runs' : span(run.to[bar]), marks, run.rules[run.bars.rule[bar]]]);
    }
    this.table.replaceChildren(table(`The last ${rows.length} of ${bars.length} attempts that had started by ${span(at)}, ${page.called(run)}`, ['task', 'slot', 'from', 'to', 'marks', 'rule'], rows));
  }
}

// placed returns the slots of lanes by tracker, home kind and place among these.
function placed(lanes) {
  const counts = new Map(), slots = new Map();
  for (const l of lanes) {
    const kind = [l.tracker, l.home, l.extra].join(), n = counts.get(kind) ?? 0;
    counts.set(kind, n + 1);
    slots.set(`${kind},${n}`, l.slot);
  }
  return slots;
}

/** wheel handles a wheel event: with Ctrl it zooms around a moment, and with Shift it moves the window. */
export function wheel(page, e, at) {
  if (e.ctrlKey || e.metaKey) page.time.zoom(e.deltaY > 0 ? 1.25 : 0.8, at);
  else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) page.time.pan((e.deltaX || e.deltaY) / 800);
  else return;
  e.preventDefault();
}

/**
 * fingers handles touches of a drawing: one finger moves the window of time, and two zoom. time returns the time at
 * a place. moved is called when a touch is more than a tap. The browser scrolls if a finger moves up or down.
 */
export function fingers(page, canvas, time, moved) {
  const at = new Map(); // the places of the fingers, by pointer
  canvas.addEventListener('pointerdown', (e) => {
    if (e.pointerType === 'touch') at.set(e.pointerId, { x: e.offsetX, from: e.offsetX });
  });
  canvas.addEventListener('pointermove', (e) => {
    const finger = at.get(e.pointerId);
    if (!finger || (at.size === 1 && Math.abs(e.offsetX - finger.from) < 8)) return;
    moved();
    const width = () => Math.max(...[...at.values()].map((f) => f.x)) - Math.min(...[...at.values()].map((f) => f.x));
    const before = width(), moment = time(finger.x);
    finger.x = e.offsetX;
    if (at.size > 1) page.time.zoom(Math.max(20, before) / Math.max(20, width()), [...at.values()].reduce((sum, f) => sum + time(f.x), 0) / at.size);
    else page.time.window(page.time.from + moment - time(finger.x), page.time.to + moment - time(finger.x));
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (e) => at.delete(e.pointerId));
}

/** table returns a table of texts. If the name of a column ends in #, its cells are aligned as numbers. */
export function table(caption, head, rows) {
  const cell = (name, text, i) => element(name, { textContent: text, className: head[i].endsWith('#') ? 'n' : '' });
  return element('table', {},
    element('caption', { textContent: caption, className: 'sr' }),
    element('thead', {}, element('tr', {}, ...head.map((h, i) => cell('th', h.replace(/#$/, ''), i)))),
    element('tbody', {}, ...rows.map((r) => element('tr', {}, ...r.map((text, i) => cell('td', text, i))))));
}

// Letters joins neighbouring bars of the same job that are too narrow for a letter. They get one letter
// together.
class Letters {
  constructor() { this.runs = []; }

  add(from, to, letter, group) {
    const r = this.runs.at(-1);
    if (r && r.group === group && r.letter === letter && from - r.to < 3) r.to = to;
    else if (r && r.to - r.from < LEAST_WIDE) Object.assign(r, { from, to, letter, group }); // no room for a letter there
    else this.runs.push({ from, to, letter, group });
  }
}

// Density merges bars that are narrower than two pixels into columns of one pixel. The height of a
// column is the share of the pixel's time that is busy, in quarters. Its hue is that of the longest
// bar. A mark at its foot means that the slot was lent for most of the busy time.
class Density {
  constructor(paint, y, h) {
    Object.assign(this, { paint, y, h, pixel: -1, busy: 0, lent: 0, group: 0, most: 0 });
    this.run = null; // neighbouring columns that look the same, which become one rectangle
  }

  add(x0, x1, group, lent) {
    const pixel = Math.floor(x0), w = Math.max(0.08, x1 - x0);
    if (pixel !== this.pixel) {
      this.column();
      this.pixel = pixel;
    }
    this.busy += w;
    if (lent) this.lent += w;
    if (w > this.most) [this.most, this.group] = [w, group];
  }

  column() {
    if (this.busy > 0) {
      const level = Math.min(4, Math.ceil(this.busy * 4)) + (this.lent * 2 > this.busy ? 8 : 0);
      const r = this.run;
      if (r && r.end === this.pixel && r.group === this.group && r.level === level) r.end++;
      else {
        this.paintRun();
        this.run = { start: this.pixel, end: this.pixel + 1, group: this.group, level };
      }
    }
    this.busy = this.lent = this.most = 0;
  }

  paintRun() {
    const r = this.run;
    if (!r) return;
    const part = (this.h * (r.level & 7)) / 4;
    this.paint.column(this.paint.hue(r.group).tones.compute, r.start, r.end, this.y + this.h, part);
    if (r.level & 8) {
      const foot = Math.max(1, this.h * 0.2);
      this.paint.column(this.paint.ground, r.start, r.end, this.y + this.h, foot + 1);
      this.paint.column(this.paint.ink, r.start, r.end, this.y + this.h, foot);
    }
    this.run = null;
  }

  flush() {
    this.column();
    this.paintRun();
    this.pixel = -1;
  }
}
