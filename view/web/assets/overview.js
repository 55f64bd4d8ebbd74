// Overview draws whole runs as a strip, on which the reader chooses a window of time.

import { fit, Stack } from './draw.js';
import { cursor, GUTTER, wheel } from './lanes.js';
import { counted, span } from './model.js';

/** Overview is the strip that shows whole runs: busy and lent slots over time. */
export class Overview {
  constructor(page, canvas) {
    this.page = page;
    this.canvas = canvas;
    canvas.after(cursor((t) => GUTTER + (t / page.time.end) * this.width, true));
    let start = null, moved = false;
    const at = (e) => (Math.max(0, e.offsetX - GUTTER) / this.width) * page.time.end;
    canvas.addEventListener('pointerdown', (e) => {
      start = at(e);
      moved = false;
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', (e) => {
      if (start === null) return page.hover(at(e), this.words(at(e)), e.clientX, e.clientY);
      moved ||= Math.abs(at(e) - start) > (page.time.end / this.width) * 4;
      if (moved) page.time.window(Math.min(start, at(e)), Math.max(start, at(e)));
    });
    canvas.addEventListener('pointerup', (e) => {
      if (start !== null && !moved) {
        const half = (page.time.to - page.time.from) / 2;
        if (half * 2 >= page.time.end) page.time.show(at(e));
        else page.time.window(at(e) - half, at(e) + half);
      }
      start = null;
    });
    canvas.addEventListener('pointerleave', () => page.hover(null));
    canvas.addEventListener('wheel', (e) => wheel(page, e, at(e)), { passive: false });
  }

  // words has the busy and lent slots of each run at a time.
  words(t) {
    const { page } = this;
    if (page.hides) return '';
    const each = page.shown().map((run) => {
      const c = this.count(run), i = Math.min(c.busy.length - 1, Math.floor((t / page.time.end) * c.busy.length));
      return `${page.called(run)} ${+c.busy[i].toFixed(1)} of ${counted(c.slots, 'slot')} busy, ${+c.lent[i].toFixed(1)} lent`;
    });
    const whole = page.time.to - page.time.from >= page.time.end;
    return `${span(Math.round(t))} · ${each.join('; ')}${whole ? ' · a click shows this moment' : ''}`;
  }

  /** count returns the busy and lent slots of a run by pixel. It computes them again only after a change. */
  count(run) {
    const n = Math.max(50, Math.floor(this.width * this.page.paint.ratio)), end = this.page.time.end, key = [run.seq, end, n].join();
    if (this.counted?.get(run)?.key === key) return this.counted.get(run);
    const busy = new Float64Array(n), lent = new Float64Array(n), b = run.bars;
    for (let i = 0; i < b.seq.length; i++) {
      const x0 = (b.from[i] / end) * n, x1 = (run.until(i) / end) * n;
      for (let x = Math.floor(x0); x < Math.min(n, Math.ceil(x1)); x++) {
        const part = Math.min(x + 1, x1) - Math.max(x, x0);
        busy[x] += part;
        if (b.lent[i]) lent[x] += part;
      }
    }
    const value = { key, busy, lent, picture: new Stack(), slots: run.lanes.filter((l) => !l.extra).length };
    this.counted ??= new WeakMap();
    this.counted.set(run, value);
    return value;
  }

  draw() {
    const { page, canvas } = this, { paint, time } = page, box = canvas.parentElement;
    const whole = box.clientWidth, h = box.clientHeight;
    this.width = whole - GUTTER - 6;
    canvas.style.height = h + 'px';
    const ctx = fit(canvas, whole, h, paint.ratio);
    ctx.fillStyle = paint.ground;
    ctx.fillRect(0, 0, whole, h);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = paint.quiet;
    ctx.fillText('whole run', 4, 13);
    ctx.fillText('busy, lent', 4, 29);
    const runs = page.shown(), part = (h - 8) / Math.max(1, runs.length);
    runs.forEach((run, r) => {
      const c = this.count(run), low = new Float32Array(c.busy.length), layer = (high, colour) => ({ low, high, tile: paint.tile(colour) });
      c.picture.draw(ctx, paint, c.key, { x: GUTTER, y: 4 + r * part, n: low.length, height: part - 3, most: c.slots }, () => [layer(c.busy, paint.line), layer(c.lent, paint.ink)]);
    });
    const x0 = GUTTER + (time.from / time.end) * this.width, x1 = GUTTER + (time.to / time.end) * this.width;
    ctx.fillStyle = paint.ground;
    ctx.globalAlpha = 0.65;
    ctx.fillRect(GUTTER, 0, x0 - GUTTER, h);
    ctx.fillRect(x1, 0, GUTTER + this.width - x1, h);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = paint.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(x0, 1, Math.max(2, x1 - x0), h - 2);
    if (time.at !== null) {
      const x = GUTTER + (time.at / time.end) * this.width;
      ctx.beginPath();
      ctx.moveTo(x, 0);
      ctx.lineTo(x, h);
      ctx.stroke();
    }
  }
}
