// Run is the model of one run, in columns as the server sends them (package view). Each answer has
// only the new rows, and apply appends them. Times are in nanoseconds from the start of the run.

const columns = {
  bars: ['seq', 'slot', 'job', 'kind', 'task', 'n', 'from', 'lent', 'moved', 'speculative', 'rule'],
  ends: ['seq', 'bar', 'at', 'how', 'in_bytes', 'out_bytes', 'copy_bytes', 'cpu'],
  phase_starts: ['seq', 'bar', 'at', 'phase'],
  decisions: ['seq', 'at', 'op', 'job', 'slot', 'bar', 'rule'],
  spills: ['seq', 'bar', 'from', 'to', 'bytes', 'records'],
  buffers: ['seq', 'bar', 'at', 'step', 'bytes', 'to_bytes'],
  fetches: ['seq', 'bar', 'at', 'map', 'maps', 'bytes'],
  statuses: ['seq', 'bar', 'at', 'text'],
  usage: ['seq', 'at', 'cpu', 'memory_bytes', 'temp_bytes'],
  losses: ['seq', 'at', 'tracker'],
};

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** letter returns the letter of the i-th job or pool. */
export const letter = (i) => letters[i % letters.length];

export const MAP = 0, REDUCE = 1;

export class Run {
  constructor(id, name) {
    this.id = id;
    this.name = name;
    this.policy = '';
    this.seq = 0;
    this.last = 0;
    this.ended = false;
    this.over = false; // no more events follow, even if the run has not ended
    this.dropped = 0;
    this.lanes = [];
    this.pools = [];
    this.rules = [];
    this.jobs = [];
    for (const [table, names] of Object.entries(columns)) {
      this[table] = Object.fromEntries(names.map((n) => [n, []]));
    }
    // These lists are by bar. The chains link the rows of each bar in a table.
    this.to = []; // time of the end; -1: the bar runs
    this.how = []; // index into howNames
    this.end = []; // row in ends; -1: the bar runs
    this.phase = chain();
    this.spill = chain();
    this.buffer = chain();
    this.fetch = chain();
    this.status = chain();
    this.startOf = []; // row in decisions of the start; -1: none
    this.bySlot = new Map(); // by slot: its bars in the order of time
    this.progress = []; // by job: times at which maps were done, reduces had copied, and reduces were done
  }

  /** apply appends d, an answer to the question model. It returns whether anything is new. */
  apply(d) {
    const fresh = d.seq > this.seq || d.ended !== this.ended || this.lanes.length === 0;
    Object.assign(this, {
      policy: d.policy, seq: d.seq, last: d.last, ended: d.ended, dropped: d.dropped,
      lanes: d.lanes, pools: d.pools, rules: d.rules,
      opNames: d.ops, phaseNames: d.phases, howNames: d.hows, stepNames: d.steps,
    });
    for (const j of d.jobs) {
      this.jobs[j.job] = j;
      this.progress[j.job] ??= { maps: [], copied: [], reduces: [] };
    }
    const bars = this.bars.seq.length;
    for (const [table, names] of Object.entries(columns)) {
      const mine = this[table], theirs = d[table];
      if (!theirs) continue;
      for (const n of names) append(mine[n], theirs[n] ?? []);
    }
    this.link(bars, d);
    return fresh;
  }

  /** link updates the lists by bar for the rows that apply has appended. bars is the number of bars before that. */
  link(bars, d) {
    const b = this.bars;
    for (let i = bars; i < b.seq.length; i++) {
      this.to.push(-1);
      this.how.push(0);
      this.end.push(-1);
      this.phase.first.push(-1);
      this.phase.last.push(-1);
      this.spill.first.push(-1);
      this.spill.last.push(-1);
      this.buffer.first.push(-1);
      this.buffer.last.push(-1);
      this.fetch.first.push(-1);
      this.fetch.last.push(-1);
      this.status.first.push(-1);
      this.status.last.push(-1);
      this.startOf.push(-1);
      let lane = this.bySlot.get(b.slot[i]);
      if (!lane) this.bySlot.set(b.slot[i], (lane = []));
      lane.push(i);
    }
    const left = this.phaseNames.map((p) => p === 'sort' || p === 'reduce' || p === 'held'); // by phase: the copy phase is over
    this.phase.grow(this.phase_starts.bar, (row, bar) => {
      const p = this.progress[b.job[bar]];
      if (b.kind[bar] === REDUCE && p && left[this.phase_starts.phase[row]] && !p['c' + bar]) {
        p['c' + bar] = true;
        p.copied.push(this.phase_starts.at[row]);
      }
    });
    this.spill.grow(this.spills.bar);
    this.buffer.grow(this.buffers.bar);
    this.fetch.grow(this.fetches.bar);
    this.status.grow(this.statuses.bar);
    const ok = this.howNames.indexOf('ok');
    for (let i = this.ends.bar.length - (d.ends ? d.ends.bar.length : 0); i < this.ends.bar.length; i++) {
      const bar = this.ends.bar[i], p = this.progress[b.job[bar]];
      this.to[bar] = this.ends.at[i];
      this.how[bar] = this.ends.how[i];
      this.end[bar] = i;
      if (this.ends.how[i] === ok && p) (b.kind[bar] === MAP ? p.maps : p.reduces).push(this.ends.at[i]);
    }
    const start = this.opNames.indexOf('start'), ds = this.decisions;
    for (let i = ds.seq.length - (d.decisions ? d.decisions.seq.length : 0); i < ds.seq.length; i++) {
      if (ds.op[i] === start && ds.bar[i] >= 0) this.startOf[ds.bar[i]] = i;
    }
  }

  /** until returns the end of a bar. While the bar runs, it returns the time of the last event. */
  until(bar) {
    return this.to[bar] < 0 ? Math.max(this.last, this.bars.from[bar]) : this.to[bar];
  }

  /** howName returns how a bar ended: running, ok, failed, killed or lost. */
  howName(bar) { return this.howNames[this.how[bar]]; }

  /** segments calls f(phase, from, to) for each phase of a bar in order. phase is a name. */
  segments(bar, f) {
    const end = this.until(bar);
    let name = this.bars.kind[bar] === MAP ? 'compute' : 'copy', from = this.bars.from[bar];
    for (let row = this.phase.first[bar]; row >= 0; row = this.phase.next[row]) {
      const at = Math.min(this.phase_starts.at[row], end);
      if (at > from) f(name, from, at);
      name = this.phaseNames[this.phase_starts.phase[row]];
      from = Math.max(from, at);
    }
    if (end > from || end === this.bars.from[bar]) f(name, from, end);
  }

  /** barAt returns the bar of a slot at time t, or the nearest one within slack; -1: none. */
  barAt(slot, t, slack = 0) {
    const lane = this.bySlot.get(slot);
    if (!lane) return -1;
    let i = firstAfter(lane, (bar) => this.until(bar) >= t - slack);
    let best = -1, distance = Infinity;
    for (; i < lane.length && this.bars.from[lane[i]] <= t + slack; i++) {
      const bar = lane[i];
      const d = Math.max(0, this.bars.from[bar] - t, t - this.until(bar));
      if (d < distance) [best, distance] = [bar, d];
      if (d === 0) break;
    }
    return best;
  }

  /** doneAt returns how many maps, copy phases and reduces of a job were done at a time. */
  doneAt(job, t) {
    const p = this.progress[job];
    return { maps: countUpTo(p.maps, t), copied: countUpTo(p.copied, t), reduces: countUpTo(p.reduces, t) };
  }

  /** hueOf returns the number that decides hue and letter of a job: that of its pool or its own. */
  hueOf(job, by) { return by === 'pool' ? this.jobs[job].pool : job; }

  /** letterOf returns the letter of a bar: in lower case if its slot is lent or has changed its home kind. */
  letterOf(bar, group) { return this.bars.lent[bar] || this.bars.moved[bar] ? letter(group).toLowerCase() : letter(group); }

  jobName(job) { return this.jobs[job]?.name || 'job ' + job; }

  /** taskName returns the name of a bar's task, such as J01/m/7. mrlocal explain --task takes it. */
  taskName(bar) {
    const b = this.bars;
    return `${this.jobName(b.job[bar])}/${b.kind[bar] === MAP ? 'm' : 'r'}/${b.task[bar]}`;
  }

  lane(slot) { return this.lanes.find((l) => l.slot === slot); }

  /** figures returns the numbers of the run for the table of differences. */
  figures() {
    const b = this.bars, ok = this.howNames?.indexOf('ok'), killed = this.howNames?.indexOf('killed');
    let busy = 0, lentTime = 0, lent = 0, copies = 0, kills = 0;
    for (let i = 0; i < b.seq.length; i++) {
      const took = this.until(i) - b.from[i];
      busy += took;
      if (b.lent[i]) { lent++; lentTime += took; }
      if (b.speculative[i]) copies++;
      if (this.how[i] === killed) kills++;
    }
    const ends = this.jobs.filter((j) => j && j.finish >= 0);
    const makespan = Math.max(0, ...ends.map((j) => j.finish));
    const done = ends.filter((j) => j.state === 'succeeded');
    const home = this.lanes.filter((l) => !l.extra).length;
    return {
      makespan, jobs: done.length, of: this.jobs.length, bars: b.seq.length, lent, lentTime, copies, kills, busy,
      mean: done.length ? done.reduce((s, j) => s + j.finish - j.submit, 0) / done.length : undefined,
      use: makespan && home ? busy / (makespan * home) : 0,
      failed: this.how.filter((h) => h !== ok && this.howNames[h] === 'failed').length,
    };
  }
}

// chain returns linked lists of the rows of a table, one for each bar. first and last are by bar, and
// next is by row; -1: none. grow adds the new rows; bars is the column of bars of the table.
function chain() {
  return {
    first: [], last: [], next: [],
    grow(bars, each) {
      for (let row = this.next.length; row < bars.length; row++) {
        const bar = bars[row];
        this.next.push(-1);
        if (this.first[bar] < 0) this.first[bar] = row;
        else this.next[this.last[bar]] = row;
        this.last[bar] = row;
        if (each) each(row, bar);
      }
    },
  };
}

function append(to, from) {
  for (let i = 0; i < from.length; i++) to.push(from[i]);
}

/** firstAfter returns the index of the first element for which is() is true. After it, is() must be true for all. */
export function firstAfter(list, is) {
  let low = 0, high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (is(list[mid])) high = mid;
    else low = mid + 1;
  }
  return low;
}

// countUpTo counts the times up to t. The times of copying are not exactly in order, so their count is
// approximate.
const countUpTo = (times, t) => firstAfter(times, (x) => x > t);

const units = [['s', 1e9], ['ms', 1e6], ['µs', 1e3]];

/** span returns a time in ns with a unit and about four digits. */
export function span(ns) {
  if (ns < 0) return '–';
  if (ns === 0) return '0 s';
  for (const [unit, size] of units) {
    if (ns >= size * 0.99995) { // a smaller time rounds to at most 999.9 of the next unit
      const x = ns / size;
      return (x >= 1000 ? x.toFixed(0) : x >= 100 ? x.toFixed(1) : x.toFixed(x >= 10 ? 2 : 3)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') + ' ' + unit;
    }
  }
  return ns + ' ns';
}

/** size returns a number of bytes with its unit. */
export function size(bytes) {
  if (bytes < 0) return '–';
  let i = 0;
  for (; bytes >= 1024 && i < 4; i++) bytes /= 1024;
  return (i === 0 ? bytes : bytes.toFixed(bytes < 10 ? 2 : 1)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][i];
}
