// Share shows a picture of the runs on the screen, and offers it as PNG and SVG. The SVG comes from the same painter as
// that of --svg: package view/svg, on the server or in the simulator of the browser. The browser draws the PNG from it.

import { ask } from './api.js';

const SCALE = 1.5; // of the PNG: 1920×1080 or 1620×1620 pixels
const LONGEST = 4000; // characters of a link: a longer one, as of a playground with a long file, is without its state

export class Share {
  constructor(page) {
    this.page = page;
    this.dialog = document.getElementById('shared');
    this.form = this.dialog.querySelector('form');
    this.form.theme.value = page.paint.theme;
    this.form.addEventListener('input', () => this.draw());
    // A line of text is not closed by Enter.
    this.form.addEventListener('keydown', (e) => e.key === 'Enter' && e.target.matches('input') && e.preventDefault());
  }

  open() {
    this.dialog.showModal();
    return this.draw();
  }

  // link returns the address of the page, without the token that a remote page may have.
  get link() {
    const at = location.origin + location.pathname, { hash } = location;
    return hash.length > LONGEST ? at : at + hash;
  }

  // draw asks for the picture and shows it. If the form changes meanwhile, the last question counts.
  async draw() {
    const { page, form, link } = this, asked = (this.asked = {}), runs = page.shown().filter((r) => r.lanes.length);
    const box = document.getElementById('picture');
    for (const id of ['png', 'svg']) document.getElementById(id).removeAttribute('href');
    try {
      const { svg } = await ask('picture', { run: runs.map((r) => r.id), shape: form.shape.value, theme: form.theme.value, title: form.title.value, hue: page.hue, link });
      if (this.asked !== asked) return;
      const source = new Blob([svg], { type: 'image/svg+xml' }), image = new Image();
      image.alt = document.getElementById('headline').textContent;
      image.src = this.offer('svg', source, runs);
      await image.decode();
      if (this.asked !== asked) return;
      box.replaceChildren(image);
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.naturalWidth * SCALE, image.naturalHeight * SCALE];
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((png) => this.asked === asked && this.offer('png', png, runs), 'image/png');
    } catch (e) {
      if (this.asked === asked) box.textContent = 'There is no picture: ' + e.message;
    }
  }

  // offer makes a link for a file, and returns its address. It frees the file before.
  offer(kind, file, runs) {
    const a = document.getElementById(kind);
    if (a.dataset.was) URL.revokeObjectURL(a.dataset.was);
    a.download = `mrlocal-${[...new Set(runs.map((r) => r.policy))].join('-')}.${kind}`.replace(/[^\w.-]+/g, '-');
    return (a.href = a.dataset.was = URL.createObjectURL(file));
  }
}
