// Timeline is the window of time, and the moment, that all drawings show. It also plays time.

export class Timeline extends EventTarget {
  constructor() {
    super();
    this.from = 0;
    this.to = 1;
    this.end = 1; // end of the longest run
    this.at = null; // the moment that is shown; null: the newest
    this.following = true; // the window moves with the end of a live run
    this.playing = false;
    this.speed = 0; // time of the run by real time; 0: the whole run in 30 s
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
  }

  /** now returns the moment that is shown. */
  get now() { return this.at === null ? this.end : this.at; }

  changed() { this.dispatchEvent(new Event('change')); }

  /** grow sets the end of the longest run. */
  grow(end) {
    end = Math.max(1, end);
    if (end === this.end) return;
    const whole = this.from === 0 && this.to >= this.end;
    const width = this.to - this.from;
    this.end = end;
    if (whole) this.to = end;
    else if (this.following && this.at === null) [this.from, this.to] = [Math.max(0, end - width), Math.max(width, end)];
    this.changed();
  }

  /** window shows the time between two moments. It keeps the window inside the run and not too narrow. */
  window(from, to) {
    const least = Math.max(10, this.end / 1e7);
    const width = Math.min(Math.max(to - from, least), this.end);
    this.from = Math.min(Math.max(0, from), this.end - width);
    this.to = this.from + width;
    this.changed();
  }

  whole() { this.window(0, this.end); }

  /** zoom multiplies the width of the window by factor, around a moment. */
  zoom(factor, around = (this.from + this.to) / 2) {
    this.window(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  /** pan moves the window by a share of its width. */
  pan(share) {
    const by = (this.to - this.from) * share;
    this.window(this.from + by, this.to + by);
  }

  /** show moves to a moment. If the moment is outside of the window, the window moves too. */
  show(at) {
    this.at = Math.min(Math.max(0, at), this.end);
    this.following = false;
    const width = this.to - this.from;
    if (this.at < this.from || this.at > this.to) this.window(this.at - width / 2, this.at + width / 2);
    else this.changed();
  }

  /** follow goes back to the newest moment. */
  follow() {
    this.playing = false;
    this.at = null;
    this.following = true;
    this.changed();
  }

  /** play starts or stops the playing of time. */
  play(on) {
    if (on && (this.at === null || this.at >= this.end)) {
      this.at = 0;
      this.from > 0 && this.whole();
    }
    this.playing = on;
    this.following = false;
    if (on) {
      let before = performance.now(), drawn = before;
      const step = (now) => {
        if (!this.playing) return;
        const speed = this.speed || this.end / 30e9;
        this.at += (now - before) * 1e6 * speed;
        before = now;
        if (this.at >= this.end) {
          this.at = this.end;
          this.playing = false;
        }
        // For readers who want reduced motion, the picture changes only twice a second.
        if (!this.calm.matches || now - drawn >= 500 || !this.playing) {
          drawn = now;
          if (this.at > this.to) this.window(this.at, this.at + (this.to - this.from));
          else this.changed();
        }
        if (this.playing) requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }
    this.changed();
  }
}
