// This module turns a run into a workload of the playground, with the times that its tasks took.

import { MAP, span } from './model.js';

const MOST_TIMES = 2000; // of the tasks of one kind of a job; of more, every so many-th is taken

// took returns the time that each task of a job needed, by number: of a map, that of its attempt that ended well; of
// a reduce, that after its copy phase.
function took(run, job, kind, tasks) {
  const times = new Array(tasks).fill(-1), b = run.bars;
  for (let bar = 0; bar < b.seq.length; bar++) {
    if (b.job[bar] !== job || b.kind[bar] !== kind || run.howName(bar) !== 'ok') continue;
    let time = 0;
    run.segments(bar, (phase, from, to) => {
      if (kind === MAP || phase === 'sort' || phase === 'reduce') time += to - from;
    });
    times[b.task[bar]] = time || run.until(bar) - b.from[bar];
  }
  const known = times.filter((t) => t > 0).sort((x, y) => x - y), middle = known[known.length >> 1] ?? 1e9;
  return times.map((t) => (t > 0 ? t : middle));
}

// times returns times as YAML: one if all are equal to a thousandth, otherwise a list.
function times(all) {
  const text = (t) => `${Math.max(1, Math.round(t / 1e3))}us`;
  if (Math.max(...all) - Math.min(...all) <= all[0] / 1000) return text(all[0]);
  const step = Math.ceil(all.length / MOST_TIMES);
  return `{list: [${all.filter((_, i) => i % step === 0).map(text).join(', ')}]}`;
}

// slowstart returns the least share of the maps of a job that were done when one of its reduces started.
function slowstart(run) {
  const b = run.bars, begun = new Set();
  let least = 1;
  for (let bar = 0; bar < b.seq.length; bar++) {
    if (b.kind[bar] === MAP || begun.has(b.job[bar])) continue;
    begun.add(b.job[bar]);
    least = Math.min(least, run.progress[b.job[bar]].maps.at(b.from[bar]) / Math.max(1, run.jobs[b.job[bar]].maps));
  }
  return Math.floor(least * 1000) / 1000;
}

// faults returns the lost trackers and the failed attempts of a run as YAML.
function faults(run) {
  const failed = new Map(), b = run.bars;
  for (let bar = 0; bar < b.seq.length; bar++) {
    if (run.howName(bar) !== 'failed') continue;
    const task = `${run.jobs[b.job[bar]].name}/${b.kind[bar] === MAP ? 'm' : 'r'}/${b.task[bar]}`;
    failed.set(task, Math.max(failed.get(task) ?? 0, b.n[bar] + 1)); // fail counts from the first attempt
  }
  const all = [...Array.from(run.losses.at, (at, i) => `{at: ${Math.max(1, Math.round(at / 1e3))}us, tracker: ${run.losses.tracker[i]}, lost: true}`),
    ...Array.from(failed, ([task, n]) => `{task: ${JSON.stringify(task)}, fail: ${n}}`)];
  return all.length ? `faults:\n${all.map((f) => `  - ${f}\n`).join('')}` : '';
}

/** workloadOf returns a workload file with the slots, pools, jobs and faults of a run. Its first lines say what it leaves out. */
export function workloadOf(run) {
  const home = run.lanes.filter((l) => !l.extra), trackers = new Set(home.map((l) => l.tracker)).size;
  const slots = (kind) => Math.max(...[...new Set(home.map((l) => l.tracker))].map((t) => home.filter((l) => l.tracker === t && l.home === kind).length));
  const jobs = run.jobs.map((j) => {
    const parts = [`name: ${JSON.stringify(j.name)}`];
    if (run.pools[j.pool]) parts.push(`pool: ${JSON.stringify(run.pools[j.pool].name)}`);
    if (j.submit > 0) parts.push(`submit: ${Math.round(j.submit / 1e3)}us`);
    if (j.deadline >= 0) parts.push(`deadline: ${Math.round(j.deadline / 1e3)}us`);
    parts.push(`maps: ${j.maps}`, `map_time: ${times(took(run, j.job, MAP, j.maps))}`, `reduces: ${j.reduces}`);
    if (j.reduces) parts.push(`reduce_time: ${times(took(run, j.job, 1, j.reduces))}`);
    return `  - {${parts.join(', ')}}\n`;
  });
  const pools = run.pools.map((p) => `  - {name: ${JSON.stringify(p.name)}, weight: ${(p.weight || 1e6) / 1e6}}\n`);
  return `# ${run.name.replace(/\s+/g, ' ')} under ${run.policy.replace(/\s+/g, ' ')}: its jobs, with the times that its tasks took\n` +
    '# Not here: the speed of slow trackers (their tasks have the long times), and copying (choose a cost level)\n' +
    `cluster: {trackers: ${trackers}, map_slots: ${slots('map')}, reduce_slots: ${slots('reduce')}}\ndefaults: {slowstart: ${slowstart(run)}}\n${faults(run)}pools:\n${pools.join('')}jobs:\n${jobs.join('')}`;
}

/** against says in words how a run differs from the run that was changed. */
export function against(base, run) {
  const a = base.figures(), b = run.figures(), later = b.makespan - a.makespan;
  const parts = [`${run.policy} ends ${Math.abs(later) < 1e6 ? 'at the same time' : span(Math.abs(later)) + (later < 0 ? ' earlier' : ' later')}`];
  for (const [x, word] of [[b.lent - a.lent, 'loan'], [b.copies - a.copies, 'copied task'], [b.failed - a.failed, 'failure']]) {
    if (x) parts.push(`${Math.abs(x)} ${x < 0 ? 'fewer' : 'more'} ${word}${Math.abs(x) === 1 ? '' : 's'}`);
  }
  return parts.join(', ');
}
