// Run is the model of one run, in columns as the server sends them (package view). Each answer has
// only the new rows, and apply appends them. Times are in nanoseconds from the start of the run.

const columns = {
  bars: ['seq', 'slot', 'job', 'kind', 'task', 'n', 'from', 'lent', 'moved', 'speculative', 'rule'],
  ends: ['seq', 'bar', 'at', 'how', 'done', 'in_bytes', 'out_bytes', 'copy_bytes', 'cpu'],
  recounts: ['seq', 'at', 'job', 'kind', 'n'],
  phase_starts: ['seq', 'bar', 'at', 'phase'],
  decisions: ['seq', 'at', 'op', 'job', 'slot', 'bar', 'rule'],
  spills: ['seq', 'bar', 'from', 'to', 'bytes', 'records'],
  buffers: ['seq', 'bar', 'at', 'step', 'bytes', 'to_bytes'],
  fetches: ['seq', 'bar', 'at', 'map', 'maps', 'bytes'],
  statuses: ['seq', 'bar', 'at', 'text'],
  usage: ['seq', 'at', 'cpu', 'memory_bytes', 'temp_bytes', 'bound_bytes'],
  losses: ['seq', 'at', 'tracker'],
};

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** letter returns the letter of the i-th job or pool. */
export const letter = (i) => letters[i % letters.length];

/** lettered returns the name of the i-th job or pool with its letter. */
export const lettered = (name, i) => (name === letter(i) ? name : letter(i) + ' ' + name);

export const MAP = 0, REDUCE = 1;

export class Run {
  constructor(id, name) {
    this.id = id;
    this.name = name;
    this.policy = '';
    this.sharing = 'none'; // the definition of the policy's fair shares
    this.ownSlowstart = false; // the policy ignores the one that is set
    this.signs = []; // names of the signs that a picture needs
    this.seq = 0;
    this.last = 0;
    this.ended = false;
    this.over = false; // no more events follow, even if the run has not ended
    this.dropped = 0;
    this.seed = 1;
    this.config = {}; // the configuration of the Ledger, as event files have it
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
    this.progress = []; // by job, over time: maps that were done, maps that all reduces had copied, reduces that were done
    this.copies = new Map(); // by reduce task: how many maps each of its attempts has copied
  }

  /** apply appends d, an answer to the question model. It returns whether anything is new. */
  apply(d) {
    const fresh = d.seq > this.seq || d.ended !== this.ended || this.lanes.length === 0;
    Object.assign(this, {
      policy: d.policy, sharing: d.sharing, ownSlowstart: d.own_slowstart, signs: d.signs, seq: d.seq, last: d.last, ended: d.ended, dropped: d.dropped,
      seed: d.seed, config: d.config, lanes: d.lanes, pools: d.pools, rules: d.rules,
      opNames: d.ops, phaseNames: d.phases, howNames: d.hows, stepNames: d.steps,
    });
    for (const j of d.jobs) {
      this.jobs[j.job] = j;
      this.progress[j.job] ??= { maps: new Count(), copied: new Count(), reduces: new Count() };
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
    this.phase.grow(this.phase_starts.bar);
    this.spill.grow(this.spills.bar);
    this.buffer.grow(this.buffers.bar);
    this.fetch.grow(this.fetches.bar);
    this.status.grow(this.statuses.bar);
    for (let i = this.ends.bar.length - (d.ends ? d.ends.bar.length : 0); i < this.ends.bar.length; i++) {
      const bar = this.ends.bar[i];
      this.to[bar] = this.ends.at[i];
      this.how[bar] = this.ends.how[i];
      this.end[bar] = i;
    }
    this.count(d);
    const start = this.opNames.indexOf('start'), ds = this.decisions;
    for (let i = ds.seq.length - (d.decisions ? d.decisions.seq.length : 0); i < ds.seq.length; i++) {
      if (ds.op[i] === start && ds.bar[i] >= 0) this.startOf[ds.bar[i]] = i;
    }
  }

  // count adds the new rows to the progress of the jobs, in the order of their events. A task counts once,
  // whatever attempts it has: a reduce by its attempt that has copied most, of those that run or have finished it.
  count(d) {
    const b = this.bars, { ends, recounts, fetches, phase_starts: phases } = this;
    const left = this.phaseNames.map((p) => p === 'sort' || p === 'reduce' || p === 'held'); // by phase: the copy phase is over
    const adds = {
      ends: (i) => {
        const bar = ends.bar[i];
        if (ends.done[i]) this.progress[b.job[bar]]?.[b.kind[bar] === MAP ? 'maps' : 'reduces'].add(ends.at[i], 1);
        else if (b.kind[bar] === REDUCE) this.copied(bar, ends.at[i], () => 0);
      },
      recounts: (i) => this.progress[recounts.job[i]]?.[recounts.kind[i] === MAP ? 'maps' : 'reduces'].add(recounts.at[i], recounts.n[i]),
      fetches: (i) => this.copied(fetches.bar[i], fetches.at[i], (n) => n + fetches.maps[i]),
      phase_starts: (i) => {
        if (left[phases.phase[i]] && b.kind[phases.bar[i]] === REDUCE) this.copied(phases.bar[i], phases.at[i], () => Infinity);
      },
    };
    const rows = [];
    for (const [table, add] of Object.entries(adds)) {
      const { seq } = this[table];
      for (let i = seq.length - (d[table]?.seq.length ?? 0); i < seq.length; i++) rows.push({ seq: seq[i], i, add });
    }
    rows.sort((x, y) => x.seq - y.seq).forEach((r) => r.add(r.i));
  }

  // copied changes how many maps an attempt of a reduce has copied.
  copied(bar, at, change) {
    const b = this.bars, job = b.job[bar], key = job * 2 ** 31 + b.task[bar];
    if (!this.progress[job]) return;
    if (!this.copies.has(key)) this.copies.set(key, { most: 0, of: new Map() });
    const task = this.copies.get(key);
    task.of.set(bar, Math.min(change(task.of.get(bar) ?? 0), this.jobs[job].maps));
    const most = Math.max(...task.of.values());
    if (most !== task.most) this.progress[job].copied.add(at, most - task.most);
    task.most = most;
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

  /** doneAt returns how many maps and reduces of a job were done at a time, and which share of its shuffle. */
  doneAt(job, t) {
    const p = this.progress[job], { maps, reduces } = this.jobs[job];
    return { maps: p.maps.at(t), shuffle: p.copied.at(t) / Math.max(1, maps * reduces), reduces: p.reduces.at(t) };
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

  /** lostAt returns when the tracker of a lane was lost; Infinity: it was not. */
  lostAt(lane) {
    const i = this.losses.tracker.indexOf(lane.tracker);
    return i < 0 ? Infinity : this.losses.at[i];
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

// Count is a number that changes at some times.
class Count {
  constructor() { [this.times, this.numbers] = [[], [0]]; }

  /** add adds n to the number from a time on. */
  add(time, n) {
    this.times.push(time);
    this.numbers.push(this.numbers.at(-1) + n);
  }

  /** at returns the number at time t. */
  at(t) { return this.numbers[firstAfter(this.times, (x) => x > t)]; }
}

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

/** counted returns a number with its noun, which gets an s unless the number is 1. */
export function counted(n, noun) { return `${n} ${noun}${n === 1 ? '' : 's'}`; }

/** size returns a number of bytes with its unit. */
export function size(bytes) {
  if (bytes < 0) return '–';
  let i = 0;
  for (; bytes >= 1024 && i < 4; i++) bytes /= 1024;
  return (i === 0 ? bytes : bytes.toFixed(bytes < 10 ? 2 : 1)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][i];
}
