// Paint draws bars. The lanes and the legend use the same functions.
//
// Hue: the job or pool (Okabe and Ito's colours), with its letter on the bar. Tone and height: the
// phase. Hatch: lent, "/" to a map, "\" to a reduce. Dashed outline: a copy. Hollow with a cross:
// killed. Notch: failed. Dots: held back. So every sign has a shape in addition to its colour.

const hues = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#F0E442'];
const eighth = { light: '#000000', dark: '#BBBBBB' };

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const hex = (c) => '#' + c.map((x) => Math.round(x).toString(16).padStart(2, '0')).join('');
const mix = (a, b, share) => a.map((x, i) => x + (b[i] - x) * share);

/** luminance returns the relative luminance of a colour, as WCAG defines it. */
const luminance = (c) => c.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);

/** contrast returns the contrast ratio of two colours, as WCAG defines it: from 1 to 21. */
const contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};

/** toward mixes a colour with as much of another one as it needs for that contrast ratio to ground. */
function toward(colour, other, ground, ratio) {
  for (let share = 0; share <= 1; share += 0.05) {
    const c = mix(colour, other, share);
    if (contrast(c, ground) >= ratio) return c;
  }
  return other;
}

/** LEAST_NAMED is the least width and height of a bar with a letter, in CSS pixels. */
export const LEAST_NAMED = 10;

// heights has the share of a bar's height that a phase fills. So phases differ not only in tone.
const heights = { compute: 1, io: 1, copy: 0.5, held: 0.5, sort: 0.75, reduce: 1 };

/** phaseWords has the words that readers see for phases. */
export const phaseWords = { compute: 'map', io: 'map, I/O', copy: 'shuffle', held: 'held back', sort: 'sort', reduce: 'reduce' };

export class Paint {
  constructor(theme, ratio) {
    this.theme = theme;
    this.ratio = ratio;
    const dark = theme === 'dark';
    this.ground = dark ? '#15181d' : '#ffffff';
    this.band = dark ? '#1a1e24' : '#f7f8fa';
    this.ink = dark ? '#eceff3' : '#16191d';
    this.quiet = dark ? '#b1b8c2' : '#4d545e';
    this.line = dark ? '#7d8490' : '#80868f';
    this.soft = dark ? '#2b3038' : '#e3e6ea';
    this.accent = dark ? '#c9a2ff' : '#8a2be2';
    const ground = rgb(this.ground), ink = rgb(this.ink);
    this.hues = [...hues, eighth[theme]].map((name) => {
      const pure = rgb(name);
      const tones = {
        compute: pure, io: mix(pure, ground, 0.35), copy: mix(pure, ground, 0.62), held: ground,
        sort: mix(pure, ground, 0.35), reduce: mix(pure, dark ? [255, 255, 255] : [0, 0, 0], dark ? 0.28 : 0.22),
      };
      const text = {};
      for (const [phase, c] of Object.entries(tones)) {
        text[phase] = contrast(c, [0, 0, 0]) >= contrast(c, [255, 255, 255]) ? '#000000' : '#ffffff';
        tones[phase] = hex(c);
      }
      return { tones, text, pure: name, line: hex(toward(mix(pure, ink, 0.25), ink, ground, 4)) };
    });
    this.patterns = new Map();
    [this.bodies, this.hatches, this.edges, this.columns] = [[], [], [], []]; // rectangles of a lane, until flush
  }

  hue(i) { return this.hues[i % this.hues.length]; }

  /** pattern returns a hatch or dots in a colour: 'up' is /, 'down' is \. */
  pattern(ctx, kind, colour) {
    const key = kind + colour;
    let p = this.patterns.get(key);
    if (p) return p;
    const s = Math.round(7 * this.ratio);
    const tile = document.createElement('canvas');
    tile.width = tile.height = s;
    const t = tile.getContext('2d');
    t.strokeStyle = t.fillStyle = colour;
    t.lineWidth = 1.5 * this.ratio;
    t.beginPath();
    if (kind === 'dots') {
      t.arc(s / 4, s / 4, s / 8, 0, 7);
      t.arc((3 * s) / 4, (3 * s) / 4, s / 8, 0, 7);
      t.fill();
    } else {
      for (const shift of [-s, 0, s]) { // also lines of the neighbouring tiles, which cross the corners of this one
        t.moveTo(shift - s, kind === 'up' ? s * 2 : -s);
        t.lineTo(shift + s * 2, kind === 'up' ? -s : s * 2);
      }
      t.stroke();
    }
    p = ctx.createPattern(tile, 'repeat');
    p.setTransform(new DOMMatrix().scale(1 / this.ratio));
    this.patterns.set(key, p);
    return p;
  }

  /**
   * bar draws an attempt. b has x, y, w, h; hue, letter, task; segments [[phase, x0, x1]]; spills
   * [[x0, x1]]; lent: '', 'up' or 'down'; copy, killed, failed, selected. Places are in CSS pixels.
   */
  bar(ctx, b) {
    const hue = this.hue(b.hue), { x, y, w, h } = b;
    if (h < 10 && w < 24 && !(b.copy || b.killed || b.failed || b.selected || b.spills.length)) return this.small(ctx, b, hue);
    ctx.save();
    if (!b.killed) {
      for (const [phase, x0, x1] of b.segments) {
        const part = Math.max(2, h * (heights[phase] ?? 1));
        ctx.fillStyle = hue.tones[phase] ?? hue.tones.compute;
        ctx.fillRect(x0, y + h - part, Math.max(0.5, x1 - x0), part);
        if (phase === 'held') {
          ctx.fillStyle = this.pattern(ctx, 'dots', hue.line);
          ctx.fillRect(x0, y, x1 - x0, h);
        }
        if (phase === 'io' && x1 - x0 > 2 && h > 6) { // a gap at the top
          ctx.fillStyle = this.ground;
          ctx.fillRect(x0, y, x1 - x0, Math.max(1, h * 0.14));
        }
      }
      ctx.fillStyle = this.ink;
      for (const [x0, x1] of b.spills) ctx.fillRect(x0, y + h - Math.max(2, h * 0.24), Math.max(1, x1 - x0), Math.max(2, h * 0.24));
    }
    if (b.lent) {
      ctx.fillStyle = this.pattern(ctx, b.lent, b.killed ? hue.line : hue.text[b.segments[0]?.[0] ?? 'compute']);
      ctx.globalAlpha = 0.72;
      ctx.fillRect(x, y, w, h);
      ctx.globalAlpha = 1;
    }
    ctx.strokeStyle = hue.line;
    ctx.lineWidth = b.copy ? 2 : 1;
    if (b.copy) ctx.setLineDash([4, 3]);
    if (w > 2) ctx.strokeRect(x + ctx.lineWidth / 2, y + ctx.lineWidth / 2, Math.max(0.5, w - ctx.lineWidth), h - ctx.lineWidth);
    ctx.setLineDash([]);
    if (b.killed && w > 3) {
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      const c = Math.min(w, h * 2.2), cx = x + w - c;
      ctx.moveTo(cx + 1, y + 1); ctx.lineTo(x + w - 1, y + h - 1);
      ctx.moveTo(cx + 1, y + h - 1); ctx.lineTo(x + w - 1, y + 1);
      ctx.stroke();
    }
    if (b.failed) {
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
    this.label(ctx, b, hue);
    if (b.selected) {
      ctx.strokeStyle = this.ground;
      ctx.lineWidth = 5;
      ctx.strokeRect(x - 1, y - 1, w + 2, h + 2);
      ctx.strokeStyle = this.accent;
      ctx.lineWidth = 3;
      ctx.strokeRect(x - 1, y - 1, w + 2, h + 2);
    }
    ctx.restore();
  }

  // small takes a bar that has only room for its phases, its hatch and its right edge. A picture of a
  // run of 100,000 bars has thousands of them, so neighbours that look the same become one rectangle,
  // and flush draws hatches and edges later.
  small(ctx, b, hue) {
    const { x, y, w, h } = b;
    for (const [phase, x0, x1] of b.segments) {
      const part = Math.max(2, h * (heights[phase] ?? 1));
      const style = phase === 'held' ? this.pattern(ctx, 'dots', hue.line) : hue.tones[phase] ?? hue.tones.compute;
      join(this.bodies, style, x0, y + h - part, Math.max(0.5, x1 - x0), part);
    }
    if (b.lent) join(this.hatches, this.pattern(ctx, b.lent, hue.text[b.segments[0]?.[0] ?? 'compute']), x, y, w, h);
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
    if (h < LEAST_NAMED || w < LEAST_NAMED) return;
    const px = Math.min(13, Math.floor(h * 0.8));
    ctx.font = `600 ${px}px system-ui, sans-serif`;
    ctx.textBaseline = 'middle';
    let text = b.letter;
    const whole = b.letter + ' ' + b.task;
    if (b.task && ctx.measureText(whole).width < w - 8) text = whole;
    const phase = b.segments[0]?.[0] ?? 'compute', width = ctx.measureText(text).width;
    const plain = b.killed || b.over || (heights[phase] ?? 1) < 1;
    if (b.lent || plain) { // a plain ground, so that the letter is readable
      ctx.fillStyle = plain ? this.ground : hue.tones[phase];
      ctx.fillRect(x + 2, y + h / 2 - px * 0.55, width + 3, px * 1.1);
    }
    ctx.fillStyle = plain ? this.ink : hue.text[phase];
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

/** ticks returns about n round times, at most, from t0 to t1, with their texts. */
export function ticks(t0, t1, n) {
  const raw = Math.max(1, (t1 - t0) / Math.max(1, n));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const [unit, size] = t1 >= 2e9 || step >= 1e9 ? ['s', 1e9] : t1 >= 2e6 || step >= 1e6 ? ['ms', 1e6] : ['µs', 1e3];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  const all = [];
  for (let i = Math.ceil(t0 / step); i * step <= t1; i++) all.push({ at: i * step, text: ((i * step) / size).toFixed(digits) + ' ' + unit });
  return all;
}

/** legend returns the entries of the legend: words, and the argument of bar() for the drawing. */
export function legend(by) {
  const one = (phase) => [[phase, 1, 25]];
  const base = { x: 1, y: 1, w: 24, h: 11, hue: 5, letter: '', task: '', segments: one('compute'), spills: [], lent: '' };
  return [
    [`letter and hue: ${by}`, { ...base, letter: 'A', hue: 0 }],
    ['reduce slot lent to a map', { ...base, lent: 'up' }],
    ['map slot lent to a reduce', { ...base, lent: 'down', segments: one('reduce') }],
    ['map', base],
    ['its I/O', { ...base, segments: one('io') }],
    ['spill', { ...base, spills: [[8, 16]] }],
    ['shuffle', { ...base, segments: one('copy') }],
    ['sort', { ...base, segments: one('sort') }],
    ['reduce', { ...base, segments: one('reduce') }],
    ['copy', { ...base, copy: true }],
    ['killed', { ...base, killed: true }],
    ['failed', { ...base, failed: true }],
    ['held back', { ...base, segments: one('held') }],
    ['idle', null],
  ];
}
