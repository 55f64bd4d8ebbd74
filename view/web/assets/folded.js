// Folded draws many slots as a few bands. A band has the busy slots of a kind on top of each other, by pool or job,
// and hatched where they are lent.

import { labels, sign, Stack } from './draw.js';
import { counted, firstAfter, lettered } from './model.js';

const MOST_BANDS = 12, MOST_GROUPS = 12;

/** LEAST is the least height of a band. */
export const LEAST = 44;

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

/** count adds up the busy slots of a run over time, by band and group: by job, or by pool. */
export function count(bands, run, by) {
  const of = new Map(), { bars, ends } = run, counted = run.seq + by;
  if (bands[0].counted === counted) return;
  for (const b of bands) {
    Object.assign(b, { counted, all: new Level(), allLent: new Level(), levels: new Map() });
    for (const l of b.lanes) of.set(l.slot, b);
  }
  for (let i = 0, e = 0; i < bars.seq.length || e < ends.seq.length;) {
    const begins = e === ends.seq.length || bars.seq[i] < ends.seq[e], bar = begins ? i++ : ends.bar[e++];
    of.get(bars.slot[bar])?.change(run.hueOf(bars.job[bar], by), bars.lent[bar], begins ? bars.from[bar] : run.to[bar], begins ? 1 : -1);
  }
}

class Band {
  constructor(name, lanes) {
    Object.assign(this, { name, lanes, kind: lanes[0].home, slots: lanes.filter((l) => !l.extra).length || lanes.length, picture: new Stack() });
  }

  change(group, lent, at, by) {
    if (!this.levels.has(group)) this.levels.set(group, { group, own: new Level(), lent: new Level() });
    this.levels.get(group)[lent ? 'lent' : 'own'].change(at, by);
    this.all.change(at, by);
    if (lent) this.allLent.change(at, by);
  }

  /**
   * show sets what the band shows of what was counted: n columns of the window of time, up to now. before is the band of
   * the run that was changed, or undefined.
   */
  show(run, { from, to }, n, now, before) {
    const key = [this.counted, before?.counted, from, to, n, now].join();
    if (this.key === key) return;
    const step = (to - from) / n, end = Math.min(now, run.last), last = Math.min(to, end), lost = new Float32Array(n);
    const gone = this.lanes.map((l) => run.lostAt(l)).filter((at) => at <= Math.min(now, to));
    for (const at of gone) for (let x = Math.max(0, Math.round((at - from) / step)); x < n; x++) lost[x]++;
    const means = (levels) => levels.reduce((sums, l) => l.add(sums, from, step, end), new Float32Array(n));
    const groups = [...this.levels.values()].map((l) => ({ ...l, sum: l.own.between(from, last) + l.lent.between(from, last) })).filter((l) => l.sum > 0);
    const rest = groups.sort((a, b) => b.sum - a.sum).splice(MOST_GROUPS), shown = groups.sort((a, b) => a.group - b.group).map((l) => [l.group, [l]]);
    if (rest.length) shown.push([-1, rest]);
    Object.assign(this, {
      before: before?.all.add(new Float32Array(n), from, step, now), key, lost, lostLanes: gone.length, drawn: this.all.begun(from, to, now), lentBars: this.allLent.begun(from, to, now),
      groups: shown.map(([group, all]) => ({ group, own: means(all.map((l) => l.own)), lent: means(all.map((l) => l.lent)) })),
    });
  }

  /** draw draws the band. y is its top edge, and left the place of the first column. */
  draw(ctx, paint, run, y, left, by) {
    const n = this.lost.length, width = n / paint.ratio, head = y + 2, height = this.height - 4, most = this.slots;
    const layers = [], names = [], zero = new Float32Array(n);
    if (this.before) layers.push({ low: zero, high: this.before, tile: paint.tile(paint.soft), outline: paint.line });
    let top = new Float32Array(n); // the sum of what is below
    for (const g of this.groups) {
      const hue = paint.hue(g.group), low = top;
      for (const [counts, lent] of [[g.own, false], [g.lent, true]]) {
        const reduces = (this.kind === 'reduce') !== lent, name = reduces ? 'reduce' : 'compute';
        const layer = { low: top, high: top.slice(), outline: hue.line, tile: lent ? paint.tile(hue.tones[name], sign[reduces ? 'lent-reduce' : 'lent-map'].mark) : paint.kind(g.group, name) };
        top = layer.high;
        for (let i = 0; i < n; i++) top[i] += counts[i];
        layers.push(layer);
      }
      names.push({ text: nameOf(run, g.group, by), low, high: top });
    }
    if (this.lostLanes) layers.push({ low: this.lost.map((v) => most - v), high: this.lost.map((v) => v && most), tile: paint.tile('transparent', sign.lost.mark, paint.line) });
    if (this.before) layers.push({ low: zero, high: this.before, tile: paint.tile('transparent'), line: paint.ink });
    this.picture.draw(ctx, paint, this.key, { x: left, y: head, n, height, most }, () => layers);
    ctx.strokeStyle = paint.soft;
    ctx.strokeRect(left, head, width, height);
    labels(ctx, paint, names, (i) => left + i / paint.ratio, (v) => head + height - (Math.min(v, most) / most) * height, 0, n);
  }

  /** words describes a moment. share is its place in the window, from 0 to 1. */
  words(run, share, by) {
    const n = this.lost.length, at = Math.min(n - 1, Math.max(0, Math.floor(share * n))), round = (v) => +v.toFixed(1);
    let busy = 0, lent = 0;
    const each = this.groups.filter((g) => g.own[at] + g.lent[at] >= 0.05).map((g) => {
      busy += g.own[at] + g.lent[at];
      lent += g.lent[at];
      return `${nameOf(run, g.group, by)} ${round(g.own[at] + g.lent[at])}`;
    });
    return `${round(busy)} of ${counted(this.slots, this.name + ' slot')} busy, ${round(lent)} lent${each.length ? ': ' + each.join(', ') : ''}. A click unfolds the slots.`;
  }
}

// Level is how many bars there are over time, and the time that they add up to at each change. So the mean of a column
// does not take longer if the column has more bars.
class Level {
  constructor() { [this.times, this.sums, this.levels, this.starts, this.ends] = [[], [], [], [], []]; }

  change(at, by) {
    const i = this.times.length - 1;
    this.sums.push(i < 0 ? 0 : this.sums[i] + this.levels[i] * (at - this.times[i]));
    this.levels.push((this.levels[i] ?? 0) + by);
    this.times.push(at);
    (by > 0 ? this.starts : this.ends).push(at);
  }

  // sum returns what the level adds up to by time t. k is the number of changes until then.
  sum(t, k = firstAfter(this.times, (at) => at > t)) { return k ? this.sums[k - 1] + this.levels[k - 1] * (t - this.times[k - 1]) : 0; }

  /** between returns what the level adds up to between two times. */
  between(from, to) { return to > from ? this.sum(to) - this.sum(from) : 0; }

  /** begun returns how many bars are in a window, of those that had started by now. */
  begun(from, to, now) {
    const last = Math.min(to, now);
    return Math.max(0, firstAfter(this.starts, (t) => t > last) - firstAfter(this.ends, (t) => t >= from));
  }

  /** add adds the means in columns to numbers. Each column is step long. The first is at time from. Nothing is after end. */
  add(numbers, from, step, end) {
    const { times } = this, first = Math.max(0, Math.floor((times[0] - from) / step)), begin = Math.min(from + first * step, end);
    let k = firstAfter(times, (at) => at > begin), before = this.sum(begin, k);
    for (let i = first; i < numbers.length && (k < times.length || this.levels[k - 1]); i++) {
      const t = Math.min(from + (i + 1) * step, end);
      while (k < times.length && times[k] <= t) k++;
      const sum = this.sum(t, k);
      numbers[i] += (sum - before) / step;
      before = sum;
    }
    return numbers;
  }
}

const nameOf = (run, group, by) => {
  if (group < 0) return 'others';
  return lettered(by === 'pool' ? run.pools[group].name : run.jobName(group), group);
};
