// Who sends how much to whom. At most about 64 x 64 cells: ranks where they fit, else domains, else
// groups of domains. A click, or Enter, goes into a cell; Escape comes back. With another plan it also
// shows how much more or less the ranks exchange than there.

const SHADES = [1, 0.72, 0.52, 0.37, 0.26, 0.17];  // each step is half as much

const COLOURS = { net: 'net', nvl: 'nvl', more: 'more-bytes', less: 'less-bytes' };

class HeatMap {
  constructor(model, other) {
    this.model = model;
    this.other = other;
    this.showsChange = false;
    // A rank of the other plan has a row where it sends there, as long as this plan has it.
    const ends = (side) => new Set([...model[side], ...(other ? [...other[side]].map((site) => this.own(other, site)) : [])]);
    this.rows = new MapAxis(model, ends('from'));
    this.columns = new MapAxis(model, ends('to'));
    this.way = [{rows: [0, this.rows.sites.length], columns: [0, this.columns.sites.length]}];
    this.root = el('div', {});
    this.readout = el('p', { class: 'readout', 'aria-live': 'polite' });
    this.draw();
  }

  get view() { return this.way[this.way.length - 1]; }

  // The site of this plan that has the same rank.
  own(model, site) {
    return model === this.model ? site : this.model.rankIndex.get(model.sites.rank[site]);
  }

  // Cells of the view with the sums of a plan's pairs: over the network and inside domains.
  sums(model) {
    const rowOf = lookup(this.rowParts, this.rows.sites.length);
    const columnOf = lookup(this.columnParts, this.columns.sites.length);
    const cells = new Map();
    for (let pair = 0; pair < model.pairs; ++pair) {
      const r = rowOf[this.rows.position[this.own(model, model.from[pair])]];
      const c = columnOf[this.columns.position[this.own(model, model.to[pair])]];
      if (!(r >= 0 && c >= 0)) continue;
      const key = r * this.columnParts.length + c;
      let cell = cells.get(key);
      if (!cell) cells.set(key, cell = { r, c, net: 0, nvl: 0, messages: 0, pairs: 0 });
      cell[model.isNetwork(pair) ? 'net' : 'nvl'] += model.amount[pair];
      cell.messages += model.messages[pair];
      cell.pairs += 1;
    }
    return cells;
  }

  // How much more or less passes in each cell than in the other plan.
  changes(now, before) {
    const cells = new Map();
    for (const key of new Set([...now.keys(), ...before.keys()])) {
      const { r, c } = now.get(key) || before.get(key);
      const total = (cell) => cell ? cell.net + cell.nvl : 0;
      const change = total(now.get(key)) - total(before.get(key));
      if (change) cells.set(key, { r, c, more: Math.max(0, change), less: Math.max(0, -change) });
    }
    return cells;
  }

  // The amount that a cell is coloured by, of [kind, amount].
  main(cell) {
    const kinds = this.showsChange ? ['more', 'less'] : ['net', 'nvl'];
    return cell[kinds[0]] >= cell[kinds[1]] ? [kinds[0], cell[kinds[0]]] : [kinds[1], cell[kinds[1]]];
  }

  draw() {
    const { rows, columns } = this.view;
    this.rowParts = this.rows.parts(...rows);
    this.columnParts = this.columns.parts(...columns);
    this.cells = this.sums(this.model);
    this.before = this.other && this.sums(this.other);
    this.shown = this.showsChange ? this.changes(this.cells, this.before) : this.cells;
    this.most = { net: 0, nvl: 0, more: 0, less: 0 };
    for (const cell of this.shown.values()) {
      for (const kind of Object.keys(this.most)) this.most[kind] = Math.max(this.most[kind], cell[kind] || 0);
    }
    this.cursor = null;
    this.root.replaceChildren(this.controls(), this.picture(), this.readout, this.legend());
    this.say(this.showsChange && !this.shown.size ? 'The same bytes in both plans.' : 'Rows send, columns receive.');
  }

  // Where the view is, each step a way back; and what is shown.
  controls() {
    const names = this.way.map((view, i) => i === 0 ? 'All ranks' : view.name);
    const trail = el('div', { class: 'choice' }, names.map((name, i) =>
      i === names.length - 1 ? el('span', {}, name)
        : [el('button', { type: 'button', click: () => this.back(i) }, name), '›']));
    return el('div', { class: 'controls' }, this.other && choice('Show',
      [[false, 'bytes'], [true, 'change from ' + this.other.name]], this.showsChange,
      (change) => { this.showsChange = change; this.draw(); }), trail);
  }

  picture() {
    const ranks = this.rowParts.some((part) => part.domain) && this.columnParts.some((part) => part.domain);
    const left = ranks && !NARROW.matches ? 150 : 112, right = NARROW.matches ? 24 : 56;
    const space = NARROW.matches ? innerWidth - 32 : 1060;
    const fit = (space, cells) => Math.floor(space / Math.max(cells, 8));
    const size = Math.max(7, Math.min(26, fit(space - left - right, this.columnParts.length), fit(900, this.rowParts.length)));
    this.size = size;
    const numbered = ranks && size >= 16 && !NARROW.matches;
    const flat = this.labelsFit();
    const top = (flat ? 16 : 76) + (numbered ? 20 : 0);
    const width = size * this.columnParts.length, height = size * this.rowParts.length;
    const picture = svg('svg', {
      width: left + width + right, height: top + height + 1,
      viewBox: `${-left} ${-top} ${left + width + right} ${top + height + 1}`,
      tabindex: 0, role: 'application', 'aria-label': 'Bytes from rank to rank. Arrow keys move, Enter goes in, Escape comes back.',
      keydown: (event) => this.key(event),
      pointermove: (event) => this.point(event),
      click: (event) => { this.point(event); this.enter(); },
    });
    picture.append(svg('rect', { class: 'track', x: 0, y: 0, width, height }));
    const gap = size > 8 ? 1 : 0;
    for (const cell of this.shown.values()) {
      const [kind, amount] = this.main(cell);
      picture.append(svg('rect', {
        class: 'cell ' + COLOURS[kind] + (this.opens(cell.r, cell.c) ? ' opens' : ''), x: cell.c * size, y: cell.r * size,
        width: size - gap, height: size - gap, 'fill-opacity': shade(amount, this.most[kind]),
      }));
    }
    this.rowParts.forEach((part, i) => {
      if (part.boundary) picture.append(svg('line', { class: 'rule', x1: -4, x2: width, y1: i * size, y2: i * size }));
      if (numbered) picture.append(svg('text', { x: -8, y: (i + 0.5) * size + 4, 'text-anchor': 'end' }, part.short));
    });
    this.columnParts.forEach((part, i) => {
      if (part.boundary) picture.append(svg('line', { class: 'rule', y1: -4, y2: height, x1: i * size, x2: i * size }));
      if (numbered && size >= 6 * part.short.length) {
        picture.append(svg('text', { x: (i + 0.5) * size, y: -8, 'text-anchor': 'middle' }, part.short));
      }
    });
    const shift = numbered ? 20 : 0;
    this.label(picture, this.rowParts, 11, (i, text) => svg('text', {
      class: 'strong', x: -8 - 2 * shift, y: (i + 0.5) * size + 4, 'text-anchor': 'end' }, text));
    this.label(picture, this.columnParts, 15, (i, text) => svg('text', flat
      ? { class: 'strong', x: i * size, y: -8 - shift }
      : { class: 'strong', transform: `translate(${(i + 0.5) * size + 4} ${-8 - shift}) rotate(-60)` }, text));
    this.mark = svg('rect', { class: 'cursor', width: size, height: size, visibility: 'hidden' });
    picture.append(svg('rect', { class: 'frame', x: 0, y: 0, width, height }), this.mark);
    this.svg = picture;
    return el('div', { class: 'map' }, picture);
  }

  // The columns' names have room side by side.
  labelsFit() {
    const byRank = this.columnParts.some((part) => part.domain !== undefined);
    const named = this.columnParts.map((part, i) => ({ i, text: clip((byRank ? part.domain : part.short) || '', 16) }))
      .filter(({ text }) => text);
    return named.every(({ i, text }, n) =>
      n + 1 === named.length || (named[n + 1].i - i) * this.size >= 7 * text.length);
  }

  // Names along an axis, as many as fit: of domains where ranks are shown.
  label(picture, parts, distance, make) {
    const byRank = parts.some((part) => part.domain !== undefined);
    let free = -1;
    parts.forEach((part, i) => {
      if ((byRank && !part.domain) || i * this.size < free) return;
      picture.append(make(i, clip(part.domain || part.short, 16)));
      free = i * this.size + distance;
    });
  }

  legend() {
    const scale = (kind, words) => this.most[kind] > 0 && el('span', {},
      svg('svg', { width: SHADES.length * 14, height: 10, 'aria-hidden': 'true' }, SHADES.map((opacity, i) =>
        svg('rect', { class: COLOURS[kind], x: (SHADES.length - 1 - i) * 14, width: 13, height: 10, 'fill-opacity': opacity }))),
      words + ', up to ' + bytes(this.most[kind]) + '; each shade is half of the next');
    return el('div', { class: 'legend' }, scale('net', 'network'), scale('nvl', 'inside domains'),
      scale('more', 'more'), scale('less', 'less'));
  }

  say(text, command) {
    this.readout.replaceChildren(text, command ? el('code', {}, '  ' + command) : '');
  }

  moveTo(r, c) {
    this.cursor = { r, c };
    this.mark.setAttribute('x', c * this.size);
    this.mark.setAttribute('y', r * this.size);
    this.mark.setAttribute('visibility', 'visible');
    const key = r * this.columnParts.length + c;
    this.say(this.rowParts[r].name + ' to ' + this.columnParts[c].name + ': ' + this.words(this.cells.get(key)) +
      (this.showsChange ? '; in ' + this.other.name + ' ' + this.words(this.before.get(key), this.other) : ''),
      !this.opens(r, c) && this.cells.get(key)?.net && this.command(r, c));
  }

  // What passes in a cell.
  words(cell, model = this.model) {
    if (!cell) return 'nothing';
    const words = [];
    if (cell.net) {
      words.push(bytes(cell.net) + ' over the network in ' + plural(cell.messages, 'message') + ', ' +
        percent(cell.net / model.summary.network_bytes) + ' of all');
    }
    if (cell.nvl) words.push(bytes(cell.nvl) + ' inside the domain');
    return words.join(', ') + (cell.pairs > 1 ? ' (' + plural(cell.pairs, 'pair') + ' of ranks)' : '');
  }

  // What lists the messages of two ranks.
  command(r, c) {
    if (!SHELL_WORD.test(this.model.name)) return undefined;
    return 'reshardc explain ' + this.model.name + ' --edge ' + this.rowParts[r].short + ' ' + this.columnParts[c].short;
  }

  point(event) {
    const box = this.svg.getBoundingClientRect(), view = this.svg.viewBox.baseVal;
    const x = (event.clientX - box.left) * view.width / box.width + view.x;
    const y = (event.clientY - box.top) * view.height / box.height + view.y;
    const r = Math.floor(y / this.size), c = Math.floor(x / this.size);
    if (r >= 0 && c >= 0 && r < this.rowParts.length && c < this.columnParts.length) this.moveTo(r, c);
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (step) {
      const { r, c } = this.cursor || { r: 0, c: 0 };
      const clamp = (value, most) => Math.max(0, Math.min(most - 1, value));
      if (this.cursor) this.moveTo(clamp(r + step[0], this.rowParts.length), clamp(c + step[1], this.columnParts.length));
      else this.moveTo(0, 0);
    } else if (event.key === 'Enter') {
      this.enter();
    } else if (event.key === 'Escape' || event.key === 'Backspace') {
      if (this.way.length > 1) this.back(this.way.length - 2);
    } else {
      return;
    }
    event.preventDefault();
  }

  // A cell has more in it than two ranks.
  opens(r, c) {
    const row = this.rowParts[r], column = this.columnParts[c];
    return row.end - row.begin > 1 || column.end - column.begin > 1;
  }

  enter() {
    if (!this.cursor || !this.opens(this.cursor.r, this.cursor.c)) return;
    const row = this.rowParts[this.cursor.r], column = this.columnParts[this.cursor.c];
    this.way.push({
      rows: [row.begin, row.end], columns: [column.begin, column.end],
      name: row.short + ' → ' + column.short,
    });
    this.draw();
    this.svg.focus({ preventScroll: true });
  }

  back(level) {
    this.way.length = level + 1;
    this.draw();
    this.svg.focus({ preventScroll: true });
  }
}

function shade(value, most) {
  const step = Math.min(SHADES.length - 1, Math.floor(Math.log2(most / value) + 1e-9));
  return SHADES[Math.max(0, step)];
}

const clip = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + '…';
