// Folded draws many slots as a few bands. A band has the busy slots of a kind on top of each other, by pool or job,
// and hatched where they are lent.

import { area, edge, label, sign } from './draw.js';
import { firstAfter, lettered } from './model.js';

const MOST_BANDS = 12, MOST_GROUPS = 12, LEAST = 44;

/** MOST_ROWS is the most slots that are not folded. */
export const MOST_ROWS = 40;

/** bandsOf returns bands of lanes: one for each tracker and kind or, if these are too many, one for each kind. */
export function bandsOf(lanes) {
  const group = (key) => {
    const all = new Map();
    for (const l of lanes) {
      if (!all.has(key(l))) all.set(key(l), []);
      all.get(key(l)).push(l);
    }
    return all;
  };
  let groups = group((l) => `T${l.tracker} ${l.home}`);
  if (groups.size > MOST_BANDS || new Set(lanes.map((l) => l.tracker)).size === 1) groups = group((l) => l.home);
  return [...groups].map(([name, list]) => new Band(name, list));
}

/** place gives the bands places below each other, from top on. Larger ones are higher. It returns their end. */
export function place(bands, top, room, gap) {
  const slots = bands.reduce((n, b) => n + b.lanes.length, 0), rest = Math.max(0, room - gap * (bands.length - 1) - LEAST * bands.length);
  for (const b of bands) {
    b.top = top;
    b.height = LEAST + (rest * b.lanes.length) / slots;
    top += b.height + gap;
  }
  return top - gap;
}

class Band {
  constructor(name, lanes) {
    Object.assign(this, { name, lanes, kind: lanes[0].home, slots: lanes.filter((l) => !l.extra).length || lanes.length });
  }

  /** add counts the busy slots of a run in n columns of the window of time, up to now. by is what hues stand for. */
  add(run, { from, to }, n, now, by) {
    const key = [run.id, run.seq, from, to, n, now, by].join();
    if (this.key === key) return;
    const groups = new Map(), lost = new Float32Array(n), column = (t) => Math.min(n, Math.max(0, ((t - from) / (to - from)) * n));
    const put = (sums, x0, x1) => {
      for (let x = Math.floor(x0); x < x1; x++) sums[x] += Math.min(x + 1, x1) - Math.max(x, x0);
    };
    let drawn = 0, lentBars = 0, lostLanes = 0;
    for (const lane of this.lanes) {
      const bars = run.bySlot.get(lane.slot) ?? [], gone = run.lostAt(lane);
      if (gone <= Math.min(now, to)) {
        lostLanes++;
        put(lost, column(gone), n);
      }
      for (let k = firstAfter(bars, (bar) => run.until(bar) >= from); k < bars.length; k++) {
        const bar = bars[k], start = run.bars.from[bar], lent = run.bars.lent[bar];
        if (start > to || start > now) break;
        drawn++;
        if (lent) lentBars++;
        const group = run.hueOf(run.bars.job[bar], by);
        if (!groups.has(group)) groups.set(group, { group, own: new Float32Array(n), lent: new Float32Array(n), sum: 0 });
        const g = groups.get(group);
        g.sum += run.until(bar) - start;
        put(lent ? g.lent : g.own, column(start), column(Math.min(run.until(bar), now)));
      }
    }
    Object.assign(this, { key, lost, drawn, lentBars, lostLanes, groups: merged([...groups.values()], n) });
  }

  /** draw draws the band. y is its top edge, and left the place of the first column. */
  draw(ctx, paint, run, y, left, by) {
    const bottom = y + this.height - 2, head = y + 2, n = this.lost.length;
    const at = (v) => bottom - (Math.min(v, this.slots) / this.slots) * (bottom - head), x = (i) => left + i;
    const sum = new Float32Array(n), names = [];
    for (const g of this.groups) {
      const low = sum.slice(), hue = paint.hue(g.group);
      for (const [counts, lent] of [[g.own, false], [g.lent, true]]) {
        const from = sum.slice();
        for (let i = 0; i < n; i++) sum[i] += counts[i];
        const reduces = (this.kind === 'reduce') !== lent, high = sum.slice();
        area(ctx, 0, n, x, at, (i) => from[i], (i) => high[i]);
        ctx.fillStyle = hue.tones[reduces ? 'reduce' : 'compute'];
        ctx.fill();
        if (!lent) continue;
        ctx.fillStyle = paint.pattern(ctx, sign[reduces ? 'lent-reduce' : 'lent-map'].mark);
        ctx.fill();
      }
      edge(ctx, 0, n, x, at, (i) => sum[i]);
      ctx.strokeStyle = hue.line;
      ctx.lineWidth = 1;
      ctx.stroke();
      names.push({ text: nameOf(run, g.group, by), low, high: sum.slice() });
    }
    if (this.lostLanes) {
      area(ctx, 0, n, x, at, (i) => this.slots - this.lost[i], () => this.slots);
      ctx.fillStyle = paint.pattern(ctx, sign.lost.mark, paint.line);
      ctx.fill();
    }
    ctx.strokeStyle = paint.soft;
    ctx.strokeRect(left, head, n, bottom - head);
    for (const s of names) label(ctx, paint, s, x, at, 0, n);
  }

  /** words describes the moment of a column. */
  words(run, i, by) {
    const at = Math.min(this.lost.length - 1, Math.max(0, Math.floor(i))), round = (v) => +v.toFixed(1);
    let busy = 0, lent = 0;
    const each = this.groups.filter((g) => g.own[at] + g.lent[at] >= 0.05).map((g) => {
      busy += g.own[at] + g.lent[at];
      lent += g.lent[at];
      return `${nameOf(run, g.group, by)} ${round(g.own[at] + g.lent[at])}`;
    });
    return `${round(busy)} of ${this.slots} ${this.name} slots busy, ${round(lent)} lent${each.length ? ': ' + each.join(', ') : ''}. A click unfolds the slots.`;
  }
}

// merged returns the groups in their order; those with least time become one without a name.
function merged(groups, n) {
  groups.sort((a, b) => b.sum - a.sum);
  const rest = groups.splice(MOST_GROUPS);
  groups.sort((a, b) => a.group - b.group);
  if (!rest.length) return groups;
  const other = { group: -1, own: new Float32Array(n), lent: new Float32Array(n) };
  for (const g of rest) for (let i = 0; i < n; i++) { other.own[i] += g.own[i]; other.lent[i] += g.lent[i]; }
  return [...groups, other];
}

const nameOf = (run, group, by) => {
  if (group < 0) return 'others';
  return lettered(by === 'pool' ? run.pools[group].name : run.jobName(group), group);
};
