// Lesson shows a lesson: notes at important moments, and questions before some decisions. While
// `hides` is true, the page draws nothing after the moment that is shown.

import { ask } from './api.js';
import { element } from './lanes.js';
import { counted, MAP, span } from './model.js';

const byID = (id) => document.getElementById(id);

export class Lesson {
  constructor(page) {
    this.page = page;
    this.next = 0; // index of the next item
    this.right = this.asked = 0;
    this.hides = true;
    this.box = byID('lesson');
  }

  /** open shows the beginning of a lesson. Without an answer it asks for the lesson of the page. */
  async open(answer) {
    Object.assign(this, answer ?? await ask('lesson'));
    const { time } = this.page;
    document.title = 'mrlocal: ' + this.title;
    document.body.classList.add('predicting');
    byID('stack').before(this.box); // in the middle of the stage, above the slots
    this.box.hidden = false;
    this.log = element('div', { className: 'log' });
    this.log.setAttribute('aria-live', 'polite');
    this.question = element('div', { className: 'question', hidden: true, tabIndex: -1 });
    this.aim = element('p', { textContent: this.about });
    this.begin = element('button', { textContent: 'Begin', className: 'primary' });
    this.begin.addEventListener('click', () => this.go());
    this.end = element('button', { textContent: 'Show all', title: 'Show all of the runs, without questions' });
    this.end.addEventListener('click', () => this.finish());
    this.dots = element('span', { className: 'dots' });
    this.buttons = element('p', { className: 'buttons' }, this.begin, this.dots, this.end);
    this.box.replaceChildren(element('h2', { textContent: `${this.title} [${this.papers.join(', ')}]` }), this.aim, this.question, this.log, this.strip(), this.buttons);
    this.progress();
    time.show(0);
    time.addEventListener('change', () => {
      this.tick();
      this.flow();
    });
  }

  // progress draws a dot for each note. Those that were shown are filled.
  progress() {
    this.dots.textContent = this.items.map((item, i) => (i < this.next ? '●' : '○')).join(' ');
    this.dots.title = `${this.next} of ${counted(this.items.length, 'moment')}`;
  }

  // strip returns the way of the data: a row for each run, with a cell for each stage. flow fills it.
  strip() {
    const stages = ['splits', 'kvbuffers', 'on disk', 'shuffle', 'reduced'];
    this.cells = this.runs.map(() => stages.map((name) => {
      const p = element('progress', { max: 1, value: 0 }), n = element('span');
      p.setAttribute('aria-label', name);
      return { p, n, root: element('div', {}, p, n) };
    }));
    return element('div', { className: 'way', title: 'The way of the data until the moment that is shown' }, element('span'), ...stages.map((s) => element('b', { textContent: s })),
      ...this.runs.flatMap((r, i) => [element('span', { textContent: r.title }), ...this.cells[i].map((c) => c.root)]));
  }

  // flow fills the way of the data: maps that have read, kvbuffers in use, outputs or spills on disk, what is copied, and
  // reduces that are done.
  flow() {
    const now = this.hides ? this.limit : this.page.now;
    this.runs.forEach((r, i) => {
      const run = this.page.runs.find((x) => x.id === r.id), b = run.bars, begun = new Set(), sum = { maps: 0, reduces: 0, copied: 0, doneMaps: 0, doneReduces: 0 };
      let running = 0;
      for (let k = 0; k < b.seq.length; k++) {
        if (b.kind[k] !== MAP || b.from[k] > now) continue;
        begun.add(b.job[k] + '/' + b.task[k]);
        if (run.until(k) > now) running++;
      }
      for (const j of run.jobs) {
        const done = run.doneAt(j.job, now);
        sum.maps += j.maps;
        sum.reduces += j.reduces;
        sum.copied += done.shuffle * j.reduces;
        sum.doneMaps += done.maps;
        sum.doneReduces += done.reduces;
      }
      const spills = run.spills.from.filter((t) => t <= now).length, slots = run.lanes.filter((l) => !l.extra).length;
      const parts = [[begun.size / sum.maps, `${begun.size} of ${sum.maps}`], [running / slots, `${running} in use`], [sum.doneMaps / sum.maps, spills ? counted(spills, 'spill') : counted(sum.doneMaps, 'output')],
        [sum.copied / sum.reduces, `${Math.round((100 * sum.copied) / Math.max(1, sum.reduces))} %`], [sum.doneReduces / sum.reduces, `${sum.doneReduces} of ${sum.reduces}`]];
      parts.forEach(([share, text], c) => {
        this.cells[i][c].p.value = Math.min(1, share || 0);
        this.cells[i][c].n.textContent = text;
      });
    });
  }

  /** limit is the last moment that may be drawn: just before a question, and nothing before the lesson begins. */
  get limit() {
    if (this.waits) return this.waits.at - 1;
    return this.begin?.hidden ? this.page.time.now : -1;
  }

  run(item) { return this.page.runs.find((r) => r.id === this.runs[item.run].id); }

  go() {
    this.begin.hidden = this.aim.hidden = true;
    this.guess = null;
    this.tick();
    if (!this.waits && this.hides) this.page.time.play(true);
  }

  // tick shows the notes of all moments up to now. It stops time just before a question.
  tick() {
    const { time } = this.page;
    if (!this.hides || this.busy || !this.begin.hidden) return;
    this.busy = true; // time.show below would call tick again
    while (this.next < this.items.length && time.now >= this.items[this.next].at) {
      const item = this.items[this.next];
      if (item.ask) {
        time.playing = false;
        time.show(Math.max(0, item.at - 1));
        this.ask(item);
        break;
      }
      this.next++;
      this.note(item, '');
    }
    if (this.next === this.items.length && time.now >= time.end) this.finish();
    this.busy = false;
  }

  // ask asks the question of an item. The reader answers by a button or, if it asks for a slot or tracker, by a click
  // on a row of the run.
  ask(item) {
    if (this.waits === item) return;
    this.waits = item;
    const run = this.run(item);
    this.page.focus(run);
    this.question.hidden = false;
    const buttons = item.choices.map((choice) => {
      const b = element('button', { textContent: this.words(item, choice) + (item.answer === 'slot' ? ` (${run.lane(Number(choice)).home})` : '') });
      b.addEventListener('click', () => this.decide(choice));
      return b;
    });
    const click = { slot: 'Click a slot in the drawing, or: ', tracker: 'Click a slot of the tracker, or: ' }[item.answer] ?? '';
    this.question.replaceChildren(element('p', {}, element('b', { textContent: `At ${span(item.at)}. ${item.ask}` })),
      element('p', {}, click, ...buttons.flatMap((b) => [b, ' '])));
    this.log.hidden = true;
    this.question.focus(); // no answer looks chosen
    this.flow();
    this.page.draw();
  }

  // words returns an answer in words, such as "slot 2".
  words(item, choice) { return item.answer === 'count' ? choice : `${item.answer} ${choice}`; }

  /** answer takes the slot that the reader has picked in a drawing. It returns whether a question was open. */
  answer(slot, run) {
    const item = this.waits;
    if (!item || run !== this.run(item)) return false;
    if (item.answer === 'slot') this.decide(String(slot));
    else if (item.answer === 'tracker') this.decide(String(run.lane(slot).tracker));
    return true;
  }

  // decide takes an answer, says whether it is right, and draws a wrong one beside the right one.
  decide(choice) {
    const item = this.waits, run = this.run(item), right = item.right.includes(choice);
    this.waits = null;
    this.asked++;
    if (right) this.right++;
    this.question.hidden = true;
    this.log.hidden = false;
    this.next++;
    const all = item.right.join(', ');
    this.note(item, right ? `You were right: ${this.words(item, choice)}. ` : `You chose ${this.words(item, choice)}, and it was ${item.right.length > 1 ? 'one of ' : ''}${this.words(item, all)}. `);
    const slots = (answers) => run.lanes.filter((l) => answers.includes(String(item.answer === 'tracker' ? l.tracker : l.slot))).map((l) => l.slot);
    const drawn = item.answer === 'slot' || item.answer === 'tracker';
    this.guess = { run, at: item.at, right: drawn ? slots(item.right) : [], wrong: drawn && !right ? slots([choice]) : [] };
    this.busy = true;
    this.page.time.show(item.at);
    const row = run.decisions.seq.indexOf(item.seq);
    if (row >= 0) this.page.choose(row); // the inspector has the reason
    this.busy = false;
    this.more = element('button', { textContent: 'Go on', className: 'primary' });
    this.more.addEventListener('click', () => { this.more.remove(); this.go(); });
    this.buttons.prepend(this.more);
    this.more.focus();
  }

  note(item, verdict) {
    this.progress();
    this.log.prepend(element('p', { className: 'said' }, element('time', { textContent: span(item.at) }), ` ${verdict}${item.text}`));
  }

  /** finish shows the runs completely, the remaining notes, and which claims hold. */
  finish() {
    if (!this.hides) return;
    this.hides = false;
    this.waits = null;
    this.guess = null;
    this.question.hidden = this.begin.hidden = this.end.hidden = true;
    this.log.hidden = this.aim.hidden = false;
    this.more?.remove();
    for (; this.next < this.items.length; this.next++) this.note(this.items[this.next], '');
    this.progress();
    document.body.classList.remove('predicting');
    byID('left').prepend(this.box);
    const claims = this.outcomes.map((o) => element('li', { textContent: `${o.text}: ${o.holds ? 'holds' : 'does not hold in these runs'}` }));
    const score = this.asked ? `You were right ${this.right} of ${this.asked} ${this.asked > 1 ? 'times' : 'time'}. ` : '';
    this.log.prepend(element('div', { className: 'claims' }, element('p', { textContent: score + 'What the lesson claims:' }), element('ul', {}, ...claims)));
    if (this.following) this.log.prepend(element('p', { className: 'following' }, element('a', { className: 'button', href: '#lesson=' + this.following.name, textContent: `Next lesson: ${this.following.title}` })));
    this.page.top();
    this.page.time.follow();
    this.page.refreshed();
  }
}
