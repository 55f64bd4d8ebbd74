// Lesson shows a lesson: notes at important moments, and questions before some decisions. While
// `hides` is true, the page draws nothing after the moment that is shown.

import { ask } from './api.js';
import { element } from './lanes.js';
import { span } from './model.js';

const byID = (id) => document.getElementById(id);

export class Lesson {
  constructor(page) {
    this.page = page;
    this.next = 0; // index of the next item
    this.right = this.asked = 0;
    this.hides = true;
    this.box = byID('lesson');
  }

  /** open asks for the lesson and shows its beginning. */
  async open() {
    Object.assign(this, await ask('lesson'));
    const { time } = this.page;
    document.title = 'mrlocal: ' + this.title;
    document.body.classList.add('predicting');
    byID('below').append(this.box); // it takes the place of the curves, which would show the future
    this.box.hidden = false;
    this.log = element('div', { className: 'log' });
    this.log.setAttribute('aria-live', 'polite');
    this.question = element('div', { className: 'question', hidden: true });
    this.aim = element('p', { textContent: this.about });
    this.begin = element('button', { textContent: 'Begin' });
    this.begin.addEventListener('click', () => this.go());
    this.end = element('button', { textContent: 'Show all', title: 'Show all of both runs, without questions' });
    this.end.addEventListener('click', () => this.finish());
    this.box.replaceChildren(
      element('h2', { textContent: `${this.title} [${this.papers.join(', ')}]` }), this.aim,
      element('p', {}, this.begin, ' ', this.end), this.question, this.log);
    time.show(0);
    time.addEventListener('change', () => this.tick());
  }

  run(item) { return this.page.runs.find((r) => r.id === this.runs[item.run].id); }

  go() {
    this.begin.hidden = true;
    if (!this.waits) this.page.time.play(true);
  }

  // tick shows the notes of all moments up to now. It stops time just before a question.
  tick() {
    const { time } = this.page;
    if (!this.hides || this.busy) return;
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

  // ask asks the question of an item. The reader answers by a click on a row of the run or on a button.
  ask(item) {
    if (this.waits === item) return;
    this.waits = item;
    this.box.scrollTop = 0;
    const run = this.run(item);
    this.page.focus(run);
    this.question.hidden = false;
    this.aim.hidden = true; // makes room, so that the whole question is visible
    const rows = run.lanes.filter((l) => !l.extra || run.bySlot.has(l.slot));
    const buttons = rows.map((l) => {
      const b = element('button', { textContent: `slot ${l.slot} (${l.home})` });
      b.addEventListener('click', () => this.answer(l.slot));
      return b;
    });
    this.question.replaceChildren(element('p', {}, element('b', { textContent: `At ${span(item.at)}. ${item.ask}` })),
      element('p', {}, 'Click a slot in the drawing, or: ', ...buttons.flatMap((b) => [b, ' '])));
    buttons[0].focus();
  }

  /** answer takes the slot that the reader has picked. It returns whether a question was open. */
  answer(slot, run) {
    const item = this.waits;
    if (!item || (run && run !== this.run(item))) return false;
    this.waits = null;
    this.asked++;
    const right = item.slots.includes(slot);
    if (right) this.right++;
    this.question.hidden = true;
    this.aim.hidden = false;
    this.next++;
    const slots = [...new Set(item.slots)].join(', ');
    this.note(item, right ? `You were right: slot ${slot}. ` : `You chose slot ${slot}, and it was ${slots.includes(',') ? 'one of ' : 'slot '}${slots}. `);
    this.busy = true;
    this.page.time.show(item.at);
    const of = this.run(item), row = of.decisions.seq.indexOf(item.seq);
    if (row >= 0) this.page.choose(row); // the inspector has the reason
    this.busy = false;
    this.more = element('button', { textContent: 'Go on' });
    this.more.addEventListener('click', () => { this.more.remove(); this.go(); this.tick(); });
    this.log.prepend(element('p', {}, this.more));
    this.more.focus();
    return true;
  }

  note(item, verdict) {
    this.log.prepend(element('p', { className: 'said' }, element('time', { textContent: span(item.at) }), ` ${verdict}${item.text}`));
  }

  /** finish shows the runs completely, the remaining notes, and which claims hold. */
  finish() {
    if (!this.hides) return;
    this.hides = false;
    this.waits = null;
    this.question.hidden = this.begin.hidden = this.end.hidden = true;
    this.aim.hidden = false;
    this.more?.remove();
    for (; this.next < this.items.length; this.next++) this.note(this.items[this.next], '');
    document.body.classList.remove('predicting');
    byID('left').prepend(this.box);
    const claims = this.outcomes.map((o) => element('li', { textContent: `${o.text}: ${o.holds ? 'holds' : 'does not hold in these runs'}` }));
    const score = this.asked ? `You were right ${this.right} of ${this.asked} times. ` : '';
    this.log.prepend(element('div', { className: 'claims' }, element('p', { textContent: score + 'What the lesson claims:' }), element('ul', {}, ...claims)));
    this.page.time.follow();
    this.page.refreshed();
  }
}
