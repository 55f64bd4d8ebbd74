// Paint draws bars. The lanes and the legend use the same functions. The table of signs and all colours come from
// package view: hue and letter are the job or pool, and every sign has a shape in addition to its colour.

import { signs, themes } from './signs.js';

/** LEAST_NAMED is the least height of a bar with a letter, and LEAST_WIDE its least width, in CSS pixels. */
export const LEAST_NAMED = 10, LEAST_WIDE = 16;

/** AXIS is the height of an axis of time. */
export const AXIS = 20;

/** sign has the signs by name. Phases are signs, too. */
export const sign = Object.fromEntries(signs.map((s) => [s.name, s]));

const HUES = themes.light.hues.length - 2; // the last two are grey

export class Paint {
  constructor(theme, ratio) {
    Object.assign(this, themes[theme], { theme, ratio });
    this.patterns = new Map();
    this.tiles = new Map();
    [this.bodies, this.hatches, this.edges, this.columns] = [[], [], [], []]; // rectangles of a lane, until flush
  }

  /** hue returns the colours of job or pool i. -1 and -2 are grey, for what is not a single job or pool. */
  hue(i) { return this.hues[i < 0 ? HUES - 1 - i : i % HUES]; }

  // phase returns the sign of a phase; a phase of a newer version looks like a map.
  phase(name) { return sign[name]?.height ? sign[name] : sign.compute; }

  // square returns a context of a square that repeats, with a colour as its ground.
  square(colour) {
    const canvas = document.createElement('canvas'), t = canvas.getContext('2d');
    canvas.width = canvas.height = Math.round(8 * this.ratio);
    t.fillStyle = colour;
    t.fillRect(0, 0, canvas.width, canvas.width);
    return t;
  }

  // mark draws a mark on a square: a hatch, dots, a network or a rule. Lines of hatches have ground next to them.
  mark(t, mark, colour) {
    const s = t.canvas.width;
    t.strokeStyle = t.fillStyle = colour;
    t.beginPath();
    if (mark === 'dots') {
      for (const at of [s / 4, (3 * s) / 4]) {
        t.moveTo(at, at);
        t.arc(at, at, s / 8, 0, 7);
      }
      t.fill();
    }
    if (mark === 'rule') t.fillRect(0, s / 2, s, Math.max(1, s / 8));
    for (const [up, wanted] of [[true, mark === 'up' || mark === 'network'], [false, mark === 'down' || mark === 'network']]) {
      if (!wanted) continue;
      for (const shift of [-s, 0, s]) { // also lines of the neighbouring tiles, which cross the corners of this one
        t.moveTo(shift - s, up ? s * 2 : -s);
        t.lineTo(shift + s * 2, up ? -s : s * 2);
      }
    }
    if (mark === 'up' || mark === 'down') {
      t.lineWidth = 3.4 * this.ratio;
      t.strokeStyle = this.ground;
      t.stroke();
    }
    t.lineWidth = (mark === 'network' ? 1 : 1.6) * this.ratio;
    t.strokeStyle = colour;
    t.stroke();
  }

  /** pattern returns the pattern of a mark. */
  pattern(ctx, mark, colour = this.ink) {
    const key = mark + colour;
    let p = this.patterns.get(key);
    if (p) return p;
    const t = this.square('transparent');
    this.mark(t, mark, colour);
    p = ctx.createPattern(t.canvas, 'repeat');
    p.setTransform(new DOMMatrix().scale(1 / this.ratio));
    this.patterns.set(key, p);
    return p;
  }

  /** tile returns the pixels of a colour with a mark on it, row by row. */
  tile(colour, mark = '', ink = this.ink) {
    const key = colour + mark + ink;
    let pixels = this.tiles.get(key);
    if (pixels) return pixels;
    const t = this.square(colour), side = t.canvas.width;
    this.mark(t, mark, ink);
    pixels = new Uint32Array(t.getImageData(0, 0, side, side).data.buffer);
    this.tiles.set(key, pixels);
    return pixels;
  }

  /** kind returns the pixels of maps, or of reduces, which have their rule. */
  kind(i, name) { return this.tile(this.hue(i).tones[name], sign[name].mark, this.hue(i).text[name]); }

  /** lacking returns the pixels of slots that a pool lacks. */
  lacking() { return this.tile('transparent', 'up', this.accent); }

  /**
   * bar draws an attempt. b has x, y, w, h; hue, letter, task; segments [[phase, x0, x1]]; spills
   * [[x0, x1]]; lent: the mark of the loan or ''; copy, killed, failed, selected. Places are in CSS pixels.
   */
  bar(ctx, b) {
    const hue = this.hue(b.hue), { x, y, w, h } = b;
    if (h < 10 && w < 24 && !(b.copy || b.killed || b.failed || b.selected || b.spills.length)) return this.small(ctx, b, hue);
    ctx.save();
    if (!b.killed) {
      for (const [phase, x0, x1] of b.segments) this.segment(ctx, hue, phase, x0, y, x1 - x0, h);
      for (const [x0, x1] of b.spills) {
        const high = Math.round(Math.max(5, h * 0.28));
        ctx.fillStyle = this.ground;
        ctx.fillRect(x0, y + h - high, Math.max(1, x1 - x0), high);
        ctx.fillStyle = this.ink;
        ctx.fillRect(x0, y + h - high + 2, Math.max(1, x1 - x0), high - 2);
      }
    }
    if (b.lent) {
      ctx.fillStyle = this.pattern(ctx, b.lent);
      ctx.fillRect(x, y, w, h);
    }
    this.outline(ctx, b, hue);
    if (b.killed && w > 3) this.cross(ctx, x, y, w, h);
    if (b.failed) this.corner(ctx, x, y, w, h);
    this.label(ctx, b, hue);
    if (b.selected) {
      for (const [colour, width] of [[this.ground, 5], [this.accent, 3]]) {
        ctx.strokeStyle = colour;
        ctx.lineWidth = width;
        ctx.strokeRect(x - 1, y - 1, w + 2, h + 2);
      }
    }
    ctx.restore();
  }

  // segment draws a phase. The edge of a phase that does not fill the whole height has a line.
  segment(ctx, hue, name, x, y, w, h) {
    const s = this.phase(name), part = Math.max(2, Math.round(h * s.height)), width = Math.max(0.5, w);
    ctx.fillStyle = hue.tones[s.name];
    ctx.fillRect(x, y + h - part, width, part);
    if (s.mark === 'dots') {
      ctx.fillStyle = this.pattern(ctx, s.mark);
      ctx.fillRect(x, y + h - part, width, part);
    }
    if (s.mark === 'rule' && h > 6) {
      ctx.fillStyle = hue.text[s.name];
      ctx.fillRect(x, Math.round(y + h * 0.22), width, Math.max(2, Math.round(h * 0.1)));
    }
    if (s.height < 1 && h > 6) {
      ctx.fillStyle = this.ink;
      ctx.fillRect(x, Math.round(y + h - part), width, 1);
    }
  }

  // outline draws the outline of a bar. That of a copy is dashes of ink on a line of ground.
  outline(ctx, b, hue) {
    const { x, y, w, h } = b;
    if (w <= 2) return;
    for (const [colour, width, dashes] of b.copy ? [[this.ground, 3, []], [this.ink, 2, [4, 3]]] : [[hue.line, 1, []]]) {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.setLineDash(dashes);
      ctx.strokeRect(x + 0.5 * width, y + 0.5 * width, Math.max(0.5, w - width), h - width);
    }
    ctx.setLineDash([]);
  }

  cross(ctx, x, y, w, h) {
    const c = Math.min(w, h * 2.2), cx = x + w - c;
    ctx.strokeStyle = this.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(cx + 1, y + 1); ctx.lineTo(x + w - 1, y + h - 1);
    ctx.moveTo(cx + 1, y + h - 1); ctx.lineTo(x + w - 1, y + 1);
    ctx.stroke();
  }

  corner(ctx, x, y, w, h) {
    const n = Math.min(h * 0.7, Math.max(3, w * 0.6));
    ctx.fillStyle = this.ground;
    ctx.beginPath();
    ctx.moveTo(x + w + 1, y - 1); ctx.lineTo(x + w - n, y - 1); ctx.lineTo(x + w + 1, y + n);
    ctx.fill();
    ctx.strokeStyle = this.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(x + w - n, y); ctx.lineTo(x + w, y + n);
    ctx.stroke();
  }

  /** lost draws that the tracker of an empty stretch of a row is lost. */
  lost(ctx, x, y, w, h) {
    ctx.fillStyle = this.pattern(ctx, sign.lost.mark, this.line);
    ctx.fillRect(x, y, w, h);
  }

  // small takes a bar that has only room for its phases, its hatch and its right edge. A picture of a
  // run of 100,000 bars has thousands of them, so neighbours that look the same become one rectangle,
  // and flush draws hatches and edges later.
  small(ctx, b, hue) {
    const { x, y, w, h } = b;
    for (const [phase, x0, x1] of b.segments) {
      const s = this.phase(phase), part = Math.max(2, h * s.height);
      const style = s.mark === 'dots' ? this.pattern(ctx, s.mark) : hue.tones[s.name];
      join(this.bodies, style, x0, y + h - part, Math.max(0.5, x1 - x0), part);
    }
    if (b.lent) join(this.hatches, this.pattern(ctx, b.lent), x, y, w, h);
    this.edges.push({ style: hue.line, x: x + w - 1, y, w: 1, h });
  }

  // column takes pixels that stand for bars too narrow for small. y is their lower end. flush draws
  // them last, because a small bar may end in the same pixel.
  column(style, from, to, y, h) { this.columns.push({ style, x: from, y: y - h, w: to - from, h }); }

  /** flush draws the small bars and columns that it has not drawn yet. */
  flush(ctx) {
    for (const layer of [this.bodies, this.hatches, this.edges, this.columns]) {
      for (const r of layer) {
        ctx.fillStyle = r.style;
        ctx.fillRect(r.x, r.y, r.w, r.h);
      }
      layer.length = 0;
    }
  }

  /** label writes the letter on a bar, and the task if there is room. b.over: the letter stands for several bars. */
  label(ctx, b, hue) {
    const { x, y, w, h } = b;
    if (h < LEAST_NAMED + (b.copy ? 6 : 0) || w < LEAST_WIDE) return; // the dashes of a copy take room
    const px = Math.min(13, Math.floor(h * 0.8));
    ctx.font = `600 ${px}px system-ui, sans-serif`;
    ctx.textBaseline = 'middle';
    let text = b.letter;
    const whole = b.letter + ' ' + b.task;
    if (b.task && ctx.measureText(whole).width < w - 8) text = whole;
    const phase = this.phase(b.segments[0]?.[0]), width = ctx.measureText(text).width;
    const plain = b.killed || b.copy || b.over || phase.height < 1;
    if (b.lent || phase.mark || plain) { // a plain ground, so that the letter is readable
      ctx.fillStyle = plain ? this.ground : hue.tones[phase.name];
      ctx.fillRect(x + 2, y + h / 2 - px * 0.55, width + 3, px * 1.1);
    }
    ctx.fillStyle = plain ? this.ink : hue.text[phase.name];
    ctx.fillText(text, x + 3.5, y + h / 2 + 0.5);
  }
}

// join adds a rectangle to a list, or to the last one there if both look the same and touch.
function join(all, style, x, y, w, h) {
  const last = all.at(-1);
  if (last && last.style === style && last.y === y && last.h === h && Math.abs(last.x + last.w - x) < 0.01) last.w += w;
  else all.push({ style, x, y, w, h });
}

/** fit sets the resolution of a canvas of that size in CSS pixels. It returns the context, which takes CSS pixels. */
export function fit(canvas, width, height, ratio) {
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

/**
 * Stack draws layers on top of each other as columns of pixels, so that many thin layers cost no more than a few thick
 * ones. The pixels stay until their key changes.
 */
export class Stack {
  constructor() { this.canvas = document.createElement('canvas'); }

  /**
   * draw draws n columns, each of one pixel of the screen, at a place in CSS pixels. layers returns the layers from
   * the lowest on: low and high are numbers of 0 to most; tile (Paint.tile) fills the layer; outline is the colour of its
   * edge, and line that of its upper edge alone. place returns which numbers a column shows; -1: none.
   */
  draw(ctx, paint, key, { x, y, n, height, most }, layers, place = (i) => i) {
    const { ratio } = paint, h = Math.max(1, Math.round(height * ratio)), whole = [key, n, h, most, paint.theme].join();
    if (this.key !== whole) {
      this.key = whole;
      const image = new ImageData(n, h), pixels = new Uint32Array(image.data.buffer), at = Int32Array.from({ length: n }, (_, i) => place(i));
      const known = new Map(); // rows of pixels: the top of a layer is often the foot of the next one
      const rows = (numbers) => {
        if (!known.has(numbers)) known.set(numbers, rowsOf(numbers, at, h, most));
        return known.get(numbers);
      };
      for (const l of layers()) fill(pixels, n, rows(l.low), rows(l.high), l.tile, paint.tile(l.outline ?? l.line ?? 'transparent')[0], Math.round(ratio), !l.outline);
      if (this.canvas.width !== n || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [n, h];
      this.canvas.getContext('2d').putImageData(image, 0, 0);
    }
    ctx.drawImage(this.canvas, Math.round(x * ratio) / ratio, Math.round(y * ratio) / ratio, n / ratio, h / ratio);
  }
}

/** sample returns a function that draws a sign of the legend from the pixels of a tile. */
export const sample = (tile) => (paint, ctx) => {
  new Stack().draw(ctx, paint, '', { x: 1, y: 1, n: Math.round(24 * paint.ratio), height: 11, most: 1 }, () => [{ low: [0], high: [1], tile: tile(paint), outline: paint.ink }], () => 0);
};

// rowsOf returns the row of pixels of each column's number.
function rowsOf(numbers, at, h, most) {
  const rows = new Int32Array(at.length), scale = h / most;
  for (let i = 0; i < rows.length; i++) rows[i] = at[i] < 0 ? h : h - Math.round(Math.min(numbers[at[i]], most) * scale);
  return rows;
}

// fill fills the pixels of a layer, from row tops to row feet of each of n columns. edge is the colour of an edge of
// that many pixels; 0: there is none. A flat edge is only at the top, and not on a layer that has no room for it.
function fill(pixels, n, feet, tops, tile, edge, thick, flat) {
  const side = Math.sqrt(tile.length);
  for (let x = 0; x < n; x++) {
    const top = tops[x], foot = feet[x];
    if (top >= foot) continue;
    let y = top;
    if (edge && !(flat && foot - top < 3 * thick)) {
      const beside = flat ? 0 : Math.max(x ? tops[x - 1] : 0, x + 1 < n ? tops[x + 1] : 0); // an outline goes down to it
      const below = Math.min(foot, Math.max(top + thick, beside));
      for (; y < below; y++) pixels[y * n + x] = edge;
    }
    const column = x % side;
    for (let row = y % side; y < foot; y++) {
      const colour = tile[row * side + column], alpha = colour >>> 24, i = y * n + x;
      if (alpha === 255 || (alpha && !pixels[i])) pixels[i] = colour;
      else if (alpha) pixels[i] = mixed(pixels[i], colour, alpha / 255);
      if (++row === side) row = 0;
    }
  }
}

// mixed returns a pixel with a share of another one.
const mixed = (a, b, share) => {
  let all = 0;
  for (const shift of [0, 8, 16]) all |= (((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share) << shift;
  return all | (255 << 24);
};

/** axis draws the times of a window over a drawing of that height, with a line down to its foot. x returns the place of a time. */
export function axis(ctx, paint, time, x, { left, right, height }) {
  ctx.font = '11px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  ctx.fillStyle = paint.quiet;
  ctx.strokeStyle = paint.soft;
  ctx.lineWidth = 1;
  for (const t of ticks(time.from, time.to, (right - left) / 90)) {
    const at = Math.round(x(t.at)) + 0.5, w = ctx.measureText(t.text).width;
    ctx.beginPath();
    ctx.moveTo(at, AXIS - 4);
    ctx.lineTo(at, height);
    ctx.stroke();
    ctx.fillText(t.text, Math.min(Math.max(left, at - w / 2), right - w - 2), AXIS / 2 - 1);
  }
}

// ticks returns about n round times, at most, from t0 to t1, with their texts.
function ticks(t0, t1, n) {
  const raw = Math.max(1, (t1 - t0) / Math.max(1, n));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const [unit, size] = t1 >= 2e9 || step >= 1e9 ? ['s', 1e9] : t1 >= 2e6 || step >= 1e6 ? ['ms', 1e6] : ['µs', 1e3];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  const all = [];
  for (let i = Math.ceil(t0 / step); i * step <= t1; i++) all.push({ at: i * step, text: ((i * step) / size).toFixed(digits) + ' ' + unit });
  return all;
}

/**
 * labels writes the text of each layer in the column where it is highest, from first on and before last, if there is
 * room. Higher layers come first.
 */
export function labels(ctx, paint, layers, x, y, first, last) {
  const all = [], placed = [];
  for (const s of layers) {
    let best = first;
    for (let i = first; i < last; i++) if (s.high[i] - s.low[i] > s.high[best] - s.low[best] + 1e-3) best = i;
    const top = y(s.high[best]), height = y(s.low[best]) - top;
    if (height >= 13) all.push({ text: s.text, at: x(best) + 4, y: top + Math.min(height / 2, 10), height });
  }
  for (const l of all.sort((a, b) => b.height - a.height)) {
    const w = ctx.measureText(l.text).width, left = Math.min(l.at, x(last) - w - 6);
    if (placed.some((o) => left < o.right && o.left < left + w + 4 && Math.abs(o.y - l.y) < 14)) continue;
    placed.push({ left, right: left + w + 4, y: l.y });
    ctx.fillStyle = paint.ground;
    ctx.fillRect(left - 2, l.y - 7, w + 4, 14);
    ctx.fillStyle = paint.ink;
    ctx.fillText(l.text, left, l.y);
  }
}

/**
 * legend returns the entries of the legend, for the signs of that names that occur: words, and a function that draws
 * the sign into a context. by is what letters and hues stand for.
 */
export function legend(by, occur) {
  const base = { x: 1, y: 1, w: 24, h: 11, hue: 0, letter: '', task: '', segments: [['compute', 1, 25]], spills: [], lent: '' };
  const entry = (s) => {
    if (s.name === 'idle') return [s.words, (paint, ctx) => { ctx.strokeStyle = paint.ink; ctx.strokeRect(1.5, 1.5, 23, 10); }];
    if (s.name === 'lost') return [s.words, (paint, ctx) => paint.lost(ctx, base.x, base.y, base.w, base.h)];
    const shape = { ...base, copy: s.mark === 'dashes', killed: s.mark === 'cross', failed: s.mark === 'corner' };
    if (s.height) shape.segments = [[s.name, 1, 25]];
    else if (s.mark === 'down') shape.segments = [['reduce', 1, 25]];
    if (s.mark === 'up' || s.mark === 'down') shape.lent = s.mark;
    if (s.mark === 'strip') shape.spills = [[8, 16]];
    return [s.words, (paint, ctx) => paint.bar(ctx, shape)];
  };
  const letters = [`letter and hue: ${by}`, (paint, ctx) => paint.bar(ctx, { ...base, letter: 'A', hue: 0 })];
  return [letters, ...signs.filter((s) => occur.has(s.name)).map(entry)];
}
