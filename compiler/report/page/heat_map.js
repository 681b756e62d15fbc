// Who sends how much to whom. At most about 64 x 64 cells: ranks where they fit, else domains, else
// groups of domains. A click, or Enter, goes into a cell; Escape comes back.

const MOST_CELLS = 64;
const SHADES = [1, 0.72, 0.52, 0.37, 0.26, 0.17];  // each step is half as much

// One side of the map: the sites that send (or receive) anything, domain by domain.
class MapAxis {
  constructor(model, ends) {
    this.model = model;
    const used = new Set(ends);
    this.sites = [...used].sort((a, b) => model.domainOf(a) - model.domainOf(b) || a - b);
    this.position = new Int32Array(model.sites.rank.length).fill(-1);
    this.sites.forEach((site, i) => { this.position[site] = i; });
    // Where each domain begins, by position.
    this.starts = this.sites.map((_, i) => i).filter(
      (i) => i === 0 || model.domainOf(this.sites[i]) !== model.domainOf(this.sites[i - 1]));
  }

  // Positions [begin, end) in parts, each [begin, end) with a name.
  parts(begin, end) {
    const domains = this.starts.filter((start) => start >= begin && start < end);
    if (!domains.length || domains[0] !== begin) domains.unshift(begin);
    if (end - begin <= MOST_CELLS) return this.ranks(begin, end, 1);
    if (domains.length === 1) return this.ranks(begin, end, groupSize(end - begin));
    const group = groupSize(domains.length);
    const list = [];
    for (let d = 0; d < domains.length; d += group) {
      const last = Math.min(d + group, domains.length) - 1;
      const stop = last + 1 < domains.length ? domains[last + 1] : end;
      const first = this.domainName(domains[d]);
      list.push({
        begin: domains[d], end: stop,
        name: last === d ? first : first + ' to ' + this.domainName(domains[last]),
        short: first, boundary: true,
      });
    }
    return list;
  }

  ranks(begin, end, group) {
    const list = [];
    for (let i = begin; i < end; i += group) {
      const stop = Math.min(i + group, end);
      const first = this.model.sites.rank[this.sites[i]];
      const last = this.model.sites.rank[this.sites[stop - 1]];
      const boundary = i === begin || this.domainOf(i) !== this.domainOf(i - 1);
      list.push({
        begin: i, end: stop, boundary, domain: boundary && this.domainName(i),
        name: (group === 1 ? this.model.rankPlace(this.sites[i]) : 'ranks ' + first + ' to ' + last),
        short: String(first),
      });
    }
    return list;
  }

  domainOf(position) { return this.model.domainOf(this.sites[position]); }
  domainName(position) { return this.model.domainName(this.domainOf(position)); }
}

function groupSize(things) {
  let group = 1;
  while (things / group > MOST_CELLS) group *= 2;
  return group;
}

class HeatMap {
  constructor(model) {
    this.model = model;
    this.rows = new MapAxis(model, model.from);
    this.columns = new MapAxis(model, model.to);
    this.way = [{rows: [0, this.rows.sites.length], columns: [0, this.columns.sites.length]}];
    this.root = el('div', {});
    this.readout = el('p', { class: 'readout', 'aria-live': 'polite' });
    this.draw();
  }

  get view() { return this.way[this.way.length - 1]; }

  // Sums of the pairs in the view, per cell: network and inside domains.
  sums(rows, columns) {
    const rowOf = lookup(rows, this.rows.sites.length);
    const columnOf = lookup(columns, this.columns.sites.length);
    const cells = new Map();
    for (let pair = 0; pair < this.model.pairs; ++pair) {
      const r = rowOf[this.rows.position[this.model.from[pair]]];
      const c = columnOf[this.columns.position[this.model.to[pair]]];
      if (r < 0 || c < 0) continue;
      const key = r * columns.length + c;
      let cell = cells.get(key);
      if (!cell) cells.set(key, cell = { r, c, net: 0, nvl: 0, messages: 0, pairs: 0 });
      cell[this.model.isNetwork(pair) ? 'net' : 'nvl'] += this.model.amount[pair];
      cell.messages += this.model.messages[pair];
      cell.pairs += 1;
    }
    return cells;
  }

  draw() {
    const { rows, columns } = this.view;
    this.rowParts = this.rows.parts(...rows);
    this.columnParts = this.columns.parts(...columns);
    this.cells = this.sums(this.rowParts, this.columnParts);
    this.most = { net: 0, nvl: 0 };
    for (const cell of this.cells.values()) {
      this.most.net = Math.max(this.most.net, cell.net);
      this.most.nvl = Math.max(this.most.nvl, cell.nvl);
    }
    this.cursor = null;
    this.root.replaceChildren(this.trail(), this.picture(), this.readout, this.legend());
    this.say('Rows send, columns receive.');
  }

  // Where the view is, each step a way back.
  trail() {
    const names = this.way.map((view, i) => i === 0 ? 'All ranks' : view.name);
    return el('div', { class: 'controls' }, el('div', { class: 'choice' }, names.map((name, i) =>
      i === names.length - 1 ? el('span', { class: 'here' }, name)
        : [el('button', { type: 'button', click: () => this.back(i) }, name), '›'])));
  }

  picture() {
    const ranks = this.rowParts.some((part) => part.domain) && this.columnParts.some((part) => part.domain);
    const left = ranks ? 150 : 112, right = 56;
    const fit = (space, cells) => Math.floor(space / Math.max(cells, 8));
    const size = Math.max(7, Math.min(26, fit(1060 - left - right, this.columnParts.length), fit(900, this.rowParts.length)));
    this.size = size;
    const numbered = ranks && size >= 16;
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
    for (const cell of this.cells.values()) {
      const kind = cell.net >= cell.nvl ? 'net' : 'nvl';
      picture.append(svg('rect', {
        class: 'cell ' + kind + (this.opens(cell.r, cell.c) ? ' opens' : ''), x: cell.c * size, y: cell.r * size,
        width: size - gap, height: size - gap, 'fill-opacity': shade(cell[kind], this.most[kind]),
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
        svg('rect', { class: kind, x: (SHADES.length - 1 - i) * 14, width: 13, height: 10, 'fill-opacity': opacity }))),
      words + ', up to ' + bytes(this.most[kind]) + '; each shade is half of the next');
    return el('div', { class: 'legend' }, scale('net', 'network'), scale('nvl', 'inside domains'));
  }

  say(text) { this.readout.textContent = text; }

  moveTo(r, c) {
    this.cursor = { r, c };
    this.mark.setAttribute('x', c * this.size);
    this.mark.setAttribute('y', r * this.size);
    this.mark.setAttribute('visibility', 'visible');
    const cell = this.cells.get(r * this.columnParts.length + c);
    const ends = this.rowParts[r].name + ' to ' + this.columnParts[c].name + ': ';
    if (!cell) return this.say(ends + 'nothing');
    const words = [];
    if (cell.net) {
      words.push(bytes(cell.net) + ' over the network in ' + plural(cell.messages, 'message') + ', ' +
        percent(cell.net / this.model.summary.network_bytes) + ' of all');
    }
    if (cell.nvl) words.push(bytes(cell.nvl) + ' inside the domain');
    this.say(ends + words.join('; ') + (cell.pairs > 1 ? ' (' + plural(cell.pairs, 'pair') + ' of ranks)' : ''));
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

// Part of each position; -1 outside of all parts.
function lookup(parts, positions) {
  const part = new Int32Array(positions).fill(-1);
  parts.forEach(({ begin, end }, i) => part.fill(i, begin, end));
  return part;
}

function shade(value, most) {
  const step = Math.min(SHADES.length - 1, Math.floor(Math.log2(most / value) + 1e-9));
  return SHADES[Math.max(0, step)];
}

const clip = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + '…';
