// Helpers of all views. Elements are made node by node: no text ever becomes markup.

const SVG = 'http://www.w3.org/2000/svg';

// An element with attributes (functions become listeners) and children (texts or nodes).
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(child));
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Drawings have other sizes there.
const NARROW = matchMedia('(max-width: 40rem)');

// What scrolls sideways and has more at its right edge.
function markCut() {
  document.querySelectorAll('.scroll, .map, .bar nav').forEach((node) => {
    node.classList.toggle('cut', node.scrollLeft + node.clientWidth + 1 < node.scrollWidth);
  });
}

// Numbers as `reshardc` prints them.
const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
const BYTE_UNITS = [['kB', 1], ['MB', 1], ['GB', 1], ['TB', 2], ['PB', 2], ['EB', 2]];
function bytes(value) {
  if (value < 1e3) return value + ' B';
  for (const [unit, digits] of BYTE_UNITS) {
    value /= 1e3;
    if (value < 1e3 - 0.5 / 10 ** digits || unit === 'EB') return value.toFixed(digits) + ' ' + unit;
  }
}
function time(ns) {
  if (ns < 1e3) return (Number.isInteger(ns) ? ns : ns.toFixed(1)) + ' ns';
  if (ns < 999950) return (ns / 1e3).toFixed(1) + ' us';
  if (ns < 999995e3) return (ns / 1e6).toFixed(2) + ' ms';
  const [whole, rest] = (ns / 1e9).toFixed(3).split('.');
  return count(whole) + '.' + rest + ' s';
}
// Small parts keep two digits.
function percent(part) {
  if (part === 0 || part >= 1e-3) return (part * 100).toFixed(1) + ' %';
  return part < 1e-6 ? '< 0.0001 %' : (part * 100).toPrecision(2) + ' %';
}
const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many);

// What a shell reads as one word, as it stands.
const SHELL_WORD = /^[\w.\/][\w.\/-]*$/;

// The numbers of a NumberPack: base64 of varints, seven bits a byte, the low ones first.
function unpack(text) {
  const raw = atob(text);
  const numbers = [];
  let value = 0, factor = 1;
  for (let i = 0; i < raw.length; ++i) {
    const byte = raw.charCodeAt(i);
    value += (byte & 127) * factor;
    if (byte & 128) {
      factor *= 128;
    } else {
      numbers.push(value);
      value = 0;
      factor = 1;
    }
  }
  return numbers;
}

const unpackSigned = (text) => unpack(text).map((number) => number % 2 ? -(number + 1) / 2 : number / 2);

// Names of which each says how much it shares with the one before.
function unpackNames({ shared, text }) {
  const rest = text.split('\n');
  let name = '';
  return unpack(shared).map((same, i) => (name = name.slice(0, same) + rest[i]));
}

// A row of buttons of which one is pressed. `items` are [value, label].
function choice(label, items, value, pick) {
  const buttons = items.map(([key, text]) => el('button', {
    type: 'button', 'aria-pressed': String(key === value),
    click: () => {
      buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(items[i][0] === key)));
      pick(key);
    },
  }, text));
  return el('div', { class: 'choice', role: 'group', 'aria-label': label }, el('span', {}, label), buttons);
}

// A table; columns are [title, is a number]. Cells are texts or nodes.
function table(columns, rows) {
  const cell = (tag, content, number) => el(tag, { class: number && 'number' }, content);
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, columns.map(([title, number]) => cell('th', title, number)))),
    el('tbody', {}, rows.map((row) =>
      el('tr', {}, row.map((content, i) => cell('td', content, columns[i][1])))))));
}

// Rows of a list, `step` at a time. `draw` gets how many to show.
const MOST_ROWS = 3000;  // of a list that may be shown whole
function paged(total, step, draw) {
  const box = el('div', {});
  let shown = Math.min(step, total);
  const show = () => {
    box.replaceChildren(draw(shown));
    if (shown === total) return;
    box.append(el('p', { class: 'more' }, count(total - shown) + ' more',
      el('button', { type: 'button', click: () => { shown = Math.min(total, shown + 4 * step); show(); } }, 'Show more'),
      total <= MOST_ROWS && el('button', { type: 'button', click: () => { shown = total; show(); } }, 'Show all')));
  };
  show();
  return box;
}

// Steps of an axis from 0 to `end`: at most about `most`, at 1, 2 or 5 times a power of ten.
function ticks(end, most) {
  if (!(end > 0)) return [0];
  const rough = end / most;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const list = [];
  for (let i = 0; i * step <= end * (1 + 1e-9); ++i) list.push(i * step);
  return list;
}
