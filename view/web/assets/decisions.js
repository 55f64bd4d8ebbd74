// Decisions is the list of decisions. Inspector shows why a slot went to a task, or why it was idle.

import { ask } from './api.js';
import { sign } from './draw.js';
import { element } from './lanes.js';
import { MAP, firstAfter, size, span } from './model.js';

const ROW = 22; // the height of a line of the list, in CSS pixels

/** Decisions lists the decisions of one run. Only the visible lines have elements. */
export class Decisions {
  constructor(page) {
    this.page = page;
    this.list = document.getElementById('list');
    this.rows = document.getElementById('rows');
    this.which = document.getElementById('which');
    this.shown = []; // rows of run.decisions
    this.list.addEventListener('scroll', () => this.paint());
    this.which.addEventListener('change', () => this.refresh(true));
    this.search = document.getElementById('search');
    this.search.addEventListener('input', () => this.refresh(true));
    this.rows.addEventListener('click', (e) => {
      const line = e.target.closest('.decision');
      if (line) page.choose(Number(line.dataset.row));
    });
    new ResizeObserver(() => this.paint()).observe(this.list);
  }

  /** refresh adds new decisions to the list. It makes the list anew for another run, or if again is set. */
  refresh(again) {
    const { run } = this.page;
    if (!run) return;
    const d = run.decisions;
    if (again || this.run !== run) {
      this.run = run;
      this.shown = [];
      this.read = 0;
    }
    const [start, kill, end] = ['start', 'kill', 'job-end'].map((op) => run.opNames?.indexOf(op));
    const starts = (i) => d.op[i] === start && d.bar[i] >= 0;
    const wanted = {
      matters: (i) => (starts(i) && (run.bars.lent[d.bar[i]] || run.bars.speculative[d.bar[i]] || run.howName(d.bar[i]) === 'failed')) || d.op[i] === kill || d.op[i] === end,
      all: () => true,
      lent: (i) => starts(i) && run.bars.lent[d.bar[i]],
      start: (i) => d.op[i] === start,
      failed: (i) => starts(i) && run.howName(d.bar[i]) === 'failed',
      kill: (i) => d.op[i] === kill,
      other: (i) => d.op[i] !== start && d.op[i] !== kill,
    }[this.which.value];
    const words = this.search.value.trim().toLowerCase();
    const found = (i) => !words || (d.bar[i] >= 0 ? `${run.taskName(d.bar[i])} s${d.slot[i]} ` : `${what(run, i)} `).toLowerCase().includes(words);
    for (; this.read < d.seq.length; this.read++) if (wanted(this.read) && found(this.read)) this.shown.push(this.read);
    this.rows.style.height = Math.max(ROW, this.shown.length * ROW) + 'px';
    document.querySelector('#filter h2').textContent = 'Decisions' + (this.page.shown().length > 1 ? ' of ' + this.page.called(run) : '');
    this.list.setAttribute('aria-label', `${this.shown.length} of ${d.seq.length} decisions`);
    this.paint();
  }

  paint() {
    const { run, page } = this;
    if (!run) return;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 2);
    const last = Math.min(this.shown.length, first + Math.ceil(this.list.clientHeight / ROW) + 4);
    const chosen = page.selected?.run === run ? page.selected.decision : -1;
    const key = [run.id, this.which.value, this.search.value, this.shown.length, first, last, page.now, chosen].join();
    if (this.painted === key) return; // nothing in the list has changed
    this.painted = key;
    const lines = [];
    for (let i = first; i < last; i++) lines.push(this.line(this.shown[i], i));
    if (!this.shown.length) lines.push(element('p', { className: 'note', textContent: 'No such decision so far.' }));
    this.rows.replaceChildren(...lines);
  }

  line(row, i) {
    const { run, page } = this, d = run.decisions, now = page.now, op = run.opNames[d.op[row]];
    const lent = op === 'start' && d.bar[row] >= 0 && run.bars.lent[d.bar[row]];
    const chosen = page.selected?.decision === row && page.selected.run === run;
    const e = element('div', { className: 'decision' + (d.at[row] > now ? ' later' : ''), role: 'option', id: 'd' + row },
      element('time', { textContent: span(d.at[row]) }),
      element('span', { textContent: lent ? 'loan' : op }),
      element('span', { textContent: what(run, row) }),
      element('span', { textContent: lent ? (run.bars.kind[d.bar[row]] === MAP ? '//' : '\\\\') : '', title: 'lent' }));
    e.dataset.row = row;
    e.setAttribute('aria-selected', chosen);
    e.setAttribute('aria-setsize', this.shown.length);
    e.setAttribute('aria-posinset', i + 1);
    e.style.top = i * ROW + 'px';
    e.title = what(run, row) + (d.rule[row] > 0 ? ', rule ' + run.rules[d.rule[row]] : '');
    return e;
  }

  /**
   * step returns the decision of the list before (by = -1) or after (by = 1) the selected one. If none
   * is selected, it starts from the moment that is shown. It returns -1 at the end of the list.
   */
  step(by) {
    const { run, page } = this;
    if (!run || !this.shown.length) return -1;
    const d = run.decisions, s = page.selected;
    let i;
    if (s && s.run === run && s.decision >= 0) {
      const at = firstAfter(this.shown, (row) => row >= s.decision);
      i = this.shown[at] === s.decision ? at + by : by > 0 ? at : at - 1;
    } else {
      const now = page.time.now;
      i = by > 0 ? firstAfter(this.shown, (row) => d.at[row] > now) : firstAfter(this.shown, (row) => d.at[row] >= now) - 1;
    }
    return i >= 0 && i < this.shown.length ? this.shown[i] : -1;
  }

  /** reveal scrolls so that a decision is visible. */
  reveal(row) {
    const i = firstAfter(this.shown, (r) => r >= row);
    const top = i * ROW, height = this.list.clientHeight;
    if (top < this.list.scrollTop + ROW || top > this.list.scrollTop + height - 2 * ROW) this.list.scrollTop = top - height / 2;
    this.list.setAttribute('aria-activedescendant', 'd' + row);
    this.paint();
  }
}

// what returns the task, slot or job that a decision is about.
function what(run, row) {
  const d = run.decisions;
  if (d.bar[row] >= 0) {
    const task = run.taskName(d.bar[row]), name = run.jobName(d.job[row]);
    const short = name.length > 8 ? name.slice(0, 6) + '…' + task.slice(name.length) : task; // keeps the number visible
    return `${short} · s${d.slot[row]}`;
  }
  if (d.slot[row] >= 0) return 'slot ' + d.slot[row];
  return d.job[row] >= 0 ? run.jobName(d.job[row]) : '';
}

/** Inspector shows the selected attempt, decision or idle slot with its reason. */
export class Inspector {
  constructor(page) {
    this.page = page;
    this.box = document.getElementById('inspector');
  }

  /** show shows the selection of the page, and its reasons as soon as the answer comes. */
  async show() {
    const s = this.page.selected;
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    if (!s) return this.nothing();
    if (s.bar >= 0) this.bar(s);
    else if (s.decision >= 0) this.decision(s);
    else this.blank(s);
    const reasons = element('div', { className: 'reasons' }, element('p', { className: 'note', textContent: 'Looking for the reason…' }));
    const seq = this.seqOf(s);
    if (seq === null) return;
    this.box.append(reasons);
    try {
      if (seq >= 0) this.why(reasons, await ask('why', { run: s.run.id, seq }, signal), s);
      else this.idle(reasons, await ask('idle', { run: s.run.id, slot: s.slot, at: Math.round(s.at) }, signal));
    } catch (e) {
      if (e.name !== 'AbortError') reasons.replaceChildren(element('p', { textContent: 'No reason: ' + e.message }));
    }
  }

  // seqOf returns the event number of the decision of a selection; -1: an idle slot; null: it has no reasons.
  seqOf(s) {
    const d = s.run.decisions;
    let row = s.decision ?? -1;
    if (row < 0 && s.bar >= 0) row = s.run.startOf[s.bar];
    if (row >= 0) {
      const op = s.run.opNames[d.op[row]];
      return op === 'start' || op === 'kill' ? d.seq[row] : null;
    }
    return s.bar >= 0 ? null : -1;
  }

  nothing() {
    const { run } = this.page;
    const count = (r) => r.bars.lent.reduce((n, x) => n + x, 0);
    const lender = this.page.shown().find(count) ?? run, lent = lender ? count(lender) : 0;
    this.box.replaceChildren(
      element('h2', { textContent: 'Why did a slot go to a task?' }),
      element('p', { textContent: 'Click a bar or a decision: here are the rule, its numbers and the candidates that it beat. Click a blank stretch of a slot for the reason why it was idle.' }));
    if (!run || !run.bars.seq.length) return;
    const words = lent ? `Show ${lent === 1 ? 'the loan' : `the first of ${lent} loans`}` + (this.page.shown().length > 1 ? ' under ' + this.page.called(lender) : '') : 'Show the first decision';
    const button = element('button', { textContent: words });
    button.addEventListener('click', () => {
      this.page.focus(lender);
      this.page.choose(lender.startOf[lent ? lender.bars.lent.indexOf(1) : 0]);
    });
    this.box.append(element('p', {}, button));
    for (const r of this.page.shown()) {
      if (!r.path?.text) continue;
      const name = this.page.shown().length > 1 ? ' under ' + this.page.called(r) : '';
      this.box.append(element('h3', { textContent: 'What ended last' + name }), element('p', { textContent: r.path.text }));
    }
  }

  bar(s) {
    const { run } = s, b = run.bars, bar = s.bar, lane = run.lane(b.slot[bar]), kind = b.kind[bar] === MAP ? 'map' : 'reduce';
    const facts = [
      ['slot', `${b.slot[bar]}, a ${lane.extra ? 'extra' : lane.home} slot` + (run.lanes.some((l) => l.tracker > 0) ? ` of tracker ${lane.tracker}` : '')],
      ['time', `${span(b.from[bar])} to ${run.to[bar] < 0 ? 'now' : span(run.to[bar])}, ${span(run.until(bar) - b.from[bar])}`],
      ['ended', run.to[bar] < 0 ? 'it runs' : { ok: 'well', failed: 'it failed', killed: 'it was killed', lost: 'its tracker was lost' }[run.howName(bar)] ?? run.howName(bar)],
    ];
    if (b.n[bar] > 0 || b.speculative[bar]) facts.push(['attempt', `${b.n[bar] + 1}` + (b.speculative[bar] ? ', a copy of one that ran' : '')]);
    const job = run.jobs[b.job[bar]];
    if (run.pools[job.pool]?.name !== job.name) facts.push(['pool', run.pools[job.pool]?.name ?? '']);
    const phases = [];
    let before = null; // the last entry of phases; consecutive segments of one phase make one entry
    run.segments(bar, (phase, from, to) => {
      if (before?.phase === phase) before.took += to - from;
      else phases.push((before = { phase, took: to - from }));
    });
    if (phases.length > 1 || b.kind[bar] !== MAP) facts.push(['phases', phases.slice(0, 12).map((p) => `${sign[p.phase]?.words ?? p.phase} ${span(p.took)}`).join(', ') + (phases.length > 12 ? ', …' : '')]);
    let spills = 0, bytes = 0;
    for (let r = run.spill.first[bar]; r >= 0; r = run.spill.next[r]) { spills++; bytes += run.spills.bytes[r]; }
    if (spills) facts.push(['spills', `${spills}, ${size(bytes)}`]);
    const status = run.status.last[bar];
    if (status >= 0) facts.push(['status', `${run.statuses.text[status]} (${span(run.statuses.at[status])})`]);
    const end = run.end[bar];
    if (end >= 0) {
      const io = ['in', 'out', 'copy'].map((n) => [n, run.ends[n + '_bytes'][end]]).filter((x) => x[1] > 0);
      if (io.length) facts.push(['bytes', io.map(([n, v]) => `${n === 'copy' ? 'copied' : n} ${size(v)}`).join(', ')]);
      if (run.ends.cpu[end] > 0) facts.push(['CPU', span(run.ends.cpu[end])]);
    }
    this.head(`${kind} ${b.task[bar]} of ${run.jobName(b.job[bar])}`, facts);
  }

  decision(s) {
    const { run } = s, d = run.decisions, row = s.decision, op = run.opNames[d.op[row]];
    const words = {
      gate: 'The gate of a job changed: its reduces may start, or not any more', admit: 'A job was admitted', 'maps-done': 'The last map of a job was done', 'job-end': 'A job ended',
      open: 'A slot was opened', close: 'A slot was closed', drain: 'A slot closes when its task ends', home: 'A slot changed its home kind', advance: 'A reduce may leave its copy phase', kill: 'An attempt was killed',
    };
    const facts = [['time', span(d.at[row])]];
    if (d.job[row] >= 0) facts.push(['job', run.jobName(d.job[row])]);
    if (d.slot[row] >= 0) facts.push(['slot', String(d.slot[row])]);
    if (d.rule[row] > 0) facts.push(['rule', run.rules[d.rule[row]]]);
    this.head(words[op] ?? op, facts);
  }

  blank(s) {
    const lane = s.run.lane(s.slot);
    this.head(`Slot ${s.slot} was idle`, [['slot', `a ${lane.extra ? 'extra' : lane.home} slot of tracker ${lane.tracker}`], ['at', span(s.at)]]);
  }

  head(title, facts) {
    const list = element('dl');
    for (const [name, text] of facts) list.append(element('dt', { textContent: name }), element('dd', { textContent: text }));
    this.box.replaceChildren(element('h2', { textContent: title }), list);
    this.box.scrollTop = 0;
  }

  // why begins with the decision as a sentence, and with what was wanted then. Facts and numbers are folded.
  why(box, reason, s) {
    const { run } = s, bar = s.bar >= 0 ? s.bar : run.decisions.bar[s.decision], parts = [];
    const lent = reason.op === 'start' && run.bars.lent[bar];
    const facts = this.box.querySelector('dl'), title = this.box.querySelector('h2');
    title.replaceWith(element('h2', { className: 'sentence' + (lent ? ' lent' : ''), textContent: reason.sentence || title.textContent }));
    parts.push(this.wanted(reason.wanted));
    if (reason.rule && reason.rule !== 'none') {
      parts.push(element('p', {}, 'rule ', element('span', { className: 'rule', textContent: reason.rule }), ' of ' + s.run.policy));
    }
    // The text repeats the numbers and candidates, which have their own lists here.
    let text = reason.text;
    if (reason.beaten?.length) text = text.split(' It was chosen before ')[0];
    if (reason.numbers?.length) text = text.split(' Numbers: ')[0];
    parts.push(element('p', { textContent: text }));
    if (reason.beaten?.length) {
      parts.push(element('h3', { textContent: 'Candidates that it beat' }),
        element('ul', {}, ...reason.beaten.map((b) => element('li', {}, element('b', { textContent: b.job || 'pool ' + b.pool }), ': ' + b.why))));
    }
    const folded = element('details', {}, element('summary', { textContent: 'all numbers' }), facts);
    if (reason.numbers?.length) {
      const list = element('dl', { className: 'numbers' });
      for (const n of reason.numbers) list.append(element('dt', { textContent: n.name }), element('dd', { textContent: n.value }));
      folded.append(list);
    }
    box.replaceChildren(...parts, folded);
  }

  // wanted draws the tasks that ran or could start, and the slots, as two bars for each kind.
  wanted(kinds) {
    const most = Math.max(1, ...kinds.flatMap((k) => [k.tasks, k.slots])), box = element('div', { className: 'wanted' });
    kinds.forEach((k, i) => {
      const name = i === MAP ? 'map' : 'reduce';
      for (const [words, n, kind, note] of [[`${name}s wanted`, k.tasks, '', `${k.tasks} (${k.waiting} waited)`], [`${name} slots`, k.slots, 'slots', k.slots]]) {
        const line = element('i', { className: kind });
        line.style.width = (100 * n) / most + '%';
        line.style.visibility = n ? '' : 'hidden';
        box.append(element('span', { textContent: words }), line, element('span', { textContent: note }));
      }
    });
    return box;
  }

  idle(box, answer) {
    box.replaceChildren(element('h3', { textContent: 'Why idle' }), ...answer.text.replace(/\n {8}/g, ' ').split('\n').filter((t) => t.trim()).map((t) => element('p', { textContent: t.trim() })));
  }
}
