// This module turns a run into a workload of the playground, with the times that its tasks took.

import { counted, MAP, span } from './model.js';

const ATTEMPTS = 4; // at each task, by default
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

const share = (ppm) => ppm / 1e6, time = (ns) => `${Math.round(ns / 1e3)}us`, same = (value) => value;

// poolKeys are the keys of a pool in a workload file. Each has the name in the configuration of the Ledger, and how its
// value is written.
const poolKeys = {
  min_maps: ['min_maps', same], min_reduces: ['min_reduces', same], max_maps: ['max_maps', same], max_reduces: ['max_reduces', same],
  max_running_jobs: ['max_running_jobs', same], mode: ['fifo', () => 'fifo'], preempt_after: ['preempt_after_ns', time], fair_preempt_after: ['fair_preempt_after_ns', time],
  capacity: ['capacity', share], max_capacity: ['max_capacity', share], min_user_limit: ['min_user_limit', share], user_limit_factor: ['user_limit_factor', share],
};

const priorities = ['very_low', 'low', 'normal', 'high', 'very_high'], NORMAL = 2;

// poolOf returns a pool as YAML.
function poolOf(run, p) {
  const of = run.config.pools?.find((q) => q.name === p.name) ?? {}, parts = [`name: ${JSON.stringify(p.name)}`, ...(p.weight && p.weight !== 1e6 ? [`weight: ${share(p.weight)}`] : [])];
  for (const [key, [name, write]] of Object.entries(poolKeys)) if (of[name]) parts.push(`${key}: ${write(of[name])}`);
  return `  - {${parts.join(', ')}}\n`;
}

// usersOf returns the users of a run as YAML, also those without a limit.
function usersOf(run) {
  const limits = new Map([...run.jobs.filter((j) => j.user).map((j) => [j.user, 0]), ...(run.config.users ?? []).map((u) => [u.name, u.max_running_jobs])]);
  const users = Array.from(limits, ([name, most]) => `  - {name: ${JSON.stringify(name)}${most ? `, max_running_jobs: ${most}` : ''}}\n`);
  return users.length ? `users:\n${users.join('')}` : '';
}

// settingsOf returns the shares of slots that a policy could lend, and the seed, as settings of the playground.
export function settingsOf(run) {
  const { config } = run, all = { seed: run.seed === 1 ? 0 : run.seed };
  if (config.borrow_map || config.borrow_reduce) { // the policy lends
    for (const [name, ppm] of [['borrow-map', config.borrow_map], ['borrow-reduce', config.borrow_reduce]]) if (ppm !== 1e6) all[name] = share(ppm);
  }
  return Object.fromEntries(Object.entries(all).filter(([name, value]) => value || name !== 'seed').map(([name, value]) => [name, String(value)]));
}

// chainOf returns the job of a chain that comes before job j, if names and times say that there is one: X.2 comes as
// soon as X has ended. A workload file may have such names without a chain, so this is for events without any other word.
function chainOf(run, j) {
  const [, name, step] = /^(.+)\.(\d+)$/.exec(j.name) ?? [], before = step > 2 ? `${name}.${step - 1}` : name;
  return step > 1 ? run.jobs.find((o) => o.name === before && o.finish >= 0 && o.finish <= j.submit && j.submit - o.finish <= run.last / 100) : undefined;
}

// waitsFor returns the names of the jobs that ended before job j could be submitted.
function waitsFor(run, j) {
  if (j.after?.length) return j.after.map((i) => run.jobs[i]?.name).filter((name) => name !== undefined);
  const before = chainOf(run, j);
  return before ? [before.name] : [];
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
    const parts = [`name: ${JSON.stringify(j.name)}`], after = waitsFor(run, j), submit = after.length ? j.due : j.submit;
    if (run.pools[j.pool]) parts.push(`pool: ${JSON.stringify(run.pools[j.pool].name)}`);
    if (j.user) parts.push(`user: ${JSON.stringify(j.user)}`);
    if (after.length) parts.push(`after: ${JSON.stringify(after)}`);
    if (submit > 0) parts.push(`submit: ${time(submit)}`);
    if (j.priority && priorities[j.priority + NORMAL]) parts.push(`priority: ${priorities[j.priority + NORMAL]}`);
    if (j.weight && j.weight !== 1e6) parts.push(`weight: ${share(j.weight)}`);
    if (j.deadline >= 0) parts.push(`deadline: ${time(j.deadline)}`);
    parts.push(`maps: ${j.maps}`, `map_time: ${times(took(run, j.job, MAP, j.maps))}`, `reduces: ${j.reduces}`);
    if (j.reduces) parts.push(`reduce_time: ${times(took(run, j.job, 1, j.reduces))}`);
    return `  - {${parts.join(', ')}}\n`;
  });
  const { slowstart, max_attempts: attempts, replicas, group_trackers: group, capacities } = run.config;
  const defaults = [...(run.ownSlowstart || slowstart === 1e6 ? [] : [`slowstart: ${share(slowstart)}`]), ...(attempts === ATTEMPTS ? [] : [`attempts: ${attempts}`])];
  const locality = [...(replicas ? [`replicas: ${replicas}`] : []), ...(group ? [`group_trackers: ${group}`] : [])];
  return `# ${run.name.replace(/\s+/g, ' ')} under ${run.policy.replace(/\s+/g, ' ')}: its jobs, with the times that its tasks took\n` +
    '# Not here: the speed of slow trackers (their tasks have the long times), and copying (choose a cost level)\n' +
    `cluster: {trackers: ${trackers}, map_slots: ${slots('map')}, reduce_slots: ${slots('reduce')}}\n` +
    (defaults.length ? `defaults: {${defaults.join(', ')}}\n` : '') +
    (locality.length ? `locality: {${locality.join(', ')}}\n` : '') +
    (capacities?.length ? `capacities:\n${capacities.map((c) => `  - {tracker: ${c.tracker}, cpu: ${share(c.cpu)}, io: ${share(c.io)}, mem: ${share(c.mem)}}\n`).join('')}` : '') +
    `${faults(run)}${usersOf(run)}pools:\n${run.pools.map((p) => poolOf(run, p)).join('')}jobs:\n${jobs.join('')}`;
}

const MOST_NAMES = 3;

/** unsaid says in words what the events of a run do not say of its jobs, and what its workload does not have. */
export function unsaid(run) {
  const list = (all) => [...all.slice(0, MOST_NAMES), ...(all.length > MOST_NAMES ? [`${all.length - MOST_NAMES} more`] : [])].join(', ');
  const alone = run.jobs.filter((j) => !j.after?.length), chained = alone.filter((j) => chainOf(run, j)), fixed = alone.filter((j) => j.submit > 0 && !chainOf(run, j));
  const parts = [];
  if (fixed.length) parts.push(`The events do not say that these jobs waited for others, so they come at their recorded times: ${list(fixed.map((j) => j.name))}.`);
  if (chained.length) parts.push(`By name and time: ${list(chained.map((j) => `${j.name} follows ${chainOf(run, j).name}`))}.`);
  parts.push(`Not in the text, so as by default: ${run.ownSlowstart ? 'slowstart, ' : ''}the speed of trackers, copying, profiles of jobs, slot weights, extra slots, options of the policy.`);
  return parts.join(' ');
}

// means returns the mean times of the tasks that ended well, in ns, by job and kind. Copy phases do not count.
function means(run) {
  const sums = new Map(), b = run.bars;
  for (let bar = 0; bar < b.seq.length; bar++) {
    if (run.howName(bar) !== 'ok') continue;
    const key = b.job[bar] * 2 + b.kind[bar], of = sums.get(key) ?? { time: 0, n: 0 };
    run.segments(bar, (phase, from, to) => { if (phase !== 'copy' && phase !== 'held') of.time += to - from; });
    of.n++;
    sums.set(key, of);
  }
  return (job, kind) => { const of = sums.get(job * 2 + kind); return of ? of.time / of.n : 0; };
}

const MOST_CHANGES = 4;

// changes says what was changed in a run: slots, pools, jobs, and settings of the playground.
function changes(base, run, settings) {
  const all = [], took = means(base), takes = means(run);
  const differ = (before, after, words, rest = '') => { if (before !== after) all.push(`${words}${after} instead of ${before}${rest}`); };
  const home = (r) => r.lanes.filter((l) => !l.extra), trackers = (r) => new Set(home(r).map((l) => l.tracker)).size, of = (r, kind) => home(r).filter((l) => l.home === kind).length;
  differ(trackers(base), trackers(run), '', ' trackers');
  differ(of(base, 'map'), of(run, 'map'), '', ' map slots');
  differ(of(base, 'reduce'), of(run, 'reduce'), '', ' reduce slots');
  for (const p of run.pools) differ((base.pools.find((q) => q.name === p.name)?.weight || 1e6) / 1e6, (p.weight || 1e6) / 1e6, `pool ${p.name} has weight `);
  for (const j of run.jobs) {
    const before = base.jobs.find((o) => o.name === j.name);
    if (!before) all.push(`job ${j.name} is new`);
    else {
      differ(before.maps, j.maps, `job ${j.name} has `, ' maps');
      differ(before.reduces, j.reduces, `job ${j.name} has `, ' reduces');
      if (Math.abs(before.submit - j.submit) > 1e6 && !waitsFor(run, j).length) differ(span(before.submit), span(j.submit), `job ${j.name} comes at `);
      for (const [kind, words] of [[MAP, 'map'], [1 - MAP, 'reduce']]) {
        const x = took(before.job, kind), y = takes(j.job, kind);
        if (x && y && Math.abs(x - y) > x / 50) differ(span(Math.round(x)), span(Math.round(y)), `a ${words} of ${j.name} takes `);
      }
    }
  }
  for (const j of base.jobs) if (!run.jobs.some((o) => o.name === j.name)) all.push(`job ${j.name} is gone`);
  const then = settingsOf(base);
  for (const [name, value] of Object.entries(settings)) if (then[name] !== value) all.push(`${name} ${value}`);
  return all.length > MOST_CHANGES ? [...all.slice(0, MOST_CHANGES), `${all.length - MOST_CHANGES} more changes`] : all;
}

// short returns a time in words, with three digits.
const short = (ns) => span(Math.abs(Number(ns.toPrecision(3))));

// against says in words how a run differs from the run that was changed.
function against(base, run) {
  const a = base.figures(), b = run.figures(), later = b.makespan - a.makespan, policy = run.policy === base.policy ? run.policy : `${run.policy} instead of ${base.policy}`;
  const ends = Math.abs(later) < 1e6 ? `ends at the same time, after ${short(b.makespan)}` : `ends ${short(later)} ${later < 0 ? 'earlier' : 'later'}, after ${short(b.makespan)} instead of ${short(a.makespan)}`;
  const parts = [`${policy} ${ends}`];
  for (const [x, word] of [[b.lent - a.lent, 'loan'], [b.copies - a.copies, 'copied task'], [b.failed - a.failed, 'failure']]) {
    if (x) parts.push(counted(Math.abs(x), `${x < 0 ? 'fewer' : 'more'} ${word}`));
  }
  let most = a.makespan / 100, job = ''; // the job that changes most, unless all change as the run does
  for (const j of run.jobs.length > 1 ? run.jobs : []) {
    const before = base.jobs.find((o) => o.name === j.name), by = j.finish - (before?.finish ?? j.finish);
    if (j.finish < 0 || !before || before.finish < 0 || Math.abs(by) <= most || Math.abs(by - later) < a.makespan / 100) continue;
    [most, job] = [Math.abs(by), `job ${j.name} ends ${short(by)} ${by < 0 ? 'earlier' : 'later'}`];
  }
  return [...parts, ...(job ? [job] : [])].join(', ');
}

/** told says in words what was changed in a run, with the settings of the playground, and what that did in each variant. */
export function told(base, runs, settings) {
  const what = changes(base, runs[0], settings), of = `${base.policy} of ${base.name}, drawn in grey`;
  const begin = what.length ? `Changed against ${of}: ${what.join(', ')}.` : runs.some((r) => r.policy !== base.policy) ? `Only the policy differs from ${of}.` : `Nothing differs yet from ${of}.`;
  return `${begin} ${runs.map((r) => against(base, r)).join('. ')}.`;
}
