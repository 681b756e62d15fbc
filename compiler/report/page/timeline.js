// A few rounds as the simulation runs them: what moves through each rank's NICs and its port inside
// the domain, one shade per round.

const TRACKS = [
  ['net', 'in', 'network in'], ['net', 'out', 'network out'],
  ['nvl', 'in', 'NVLink in'], ['nvl', 'out', 'NVLink out'],
];
const ROUND_SHADES = [1, 0.45, 0.75, 0.3];
// What overlaps in a track lies in lanes, which are lower the more there are.
const laneHeight = (lanes) => lanes === 1 ? 12 : Math.max(3, Math.min(9, 28 / lanes));

class TimelineView {
  constructor(model) {
    this.model = model;
    this.timeline = model.timeline;
    this.root = el('div', {});
    if (this.timeline.failure || !this.timeline.windows.length) {
      this.root.append(el('p', {}, this.timeline.failure || 'Nothing moves between ranks.'));
      return;
    }
    this.windows = this.timeline.windows.map((window) => ({ ...window, spans: this.read(window.spans) }));
    this.window = this.windows[0];
    this.domain = this.timeline.domains.find((domain) => this.windows[0].spans.some(
      (span) => this.touches(span, domain))) ?? this.timeline.domains[0];
    this.picture = el('div', { class: 'drawing' });
    this.readout = el('p', { class: 'readout', 'aria-live': 'polite' });
    this.root.append(this.controls(), this.picture, this.readout, this.legend());
    this.draw();
  }

  read(numbers) {
    const spans = [];
    for (let i = 0; i < numbers.length; i += 7) {
      const [copy, round, from, to, amount, begin, end] = numbers.slice(i, i + 7);
      const site = (rank) => this.model.rankIndex.get(rank);
      spans.push({ copy, round, from: site(from), to: site(to), amount, begin: begin / 1e3, end: end / 1e3 });
    }
    return spans;
  }

  touches(span, domain) {
    return this.model.domainOf(span.from) === domain || this.model.domainOf(span.to) === domain;
  }

  controls() {
    const pick = (name) => (value) => { this[name] = value; this.draw(); };
    return el('div', { class: 'controls' },
      choice('Domain', this.timeline.domains.map((domain) => [domain, this.model.domainName(domain)]), this.domain, pick('domain')),
      choice('Show', this.windows.map((window) => [window, roundsText(window)]), this.window, pick('window')));
  }

  legend() {
    return el('div', { class: 'legend' },
      el('span', {}, el('i', { class: 'swatch' }), 'network'),
      el('span', {}, el('i', { class: 'swatch nvl' }), 'inside the domain'),
      el('span', {}, 'each round has a shade of its own'));
  }

  // Tracks of the domain's ranks that have anything to show, with spans in lanes.
  tracks() {
    const list = [];
    this.model.sites.domain.forEach((domain, site) => {
      if (domain !== this.domain) return;
      for (const [kind, way, name] of TRACKS) {
        const spans = this.window.spans.filter((span) =>
          (way === 'in' ? span.to : span.from) === site &&
          (this.model.domainOf(span.from) === this.model.domainOf(span.to)) === (kind === 'nvl'));
        if (spans.length) list.push({ site, kind, name, spans, ...lanesOf(spans) });
      }
    });
    return list;
  }

  draw() {
    if (!this.windows) return;
    const tracks = this.tracks();
    const [left, right] = NARROW.matches ? [118, 370] : [150, 1080], top = 22;
    const end = this.window.spans.reduce((most, span) => Math.max(most, span.end), 0) || 1;
    const x = (ns) => left + (right - left) * ns / end;
    const height = top + tracks.reduce((sum, track) => sum + trackHeight(track), 0) + 6;
    const picture = svg('svg', { class: 'plot', viewBox: `0 0 ${right + 10} ${height}`, role: 'img', 'aria-label': 'Timeline of ' + this.model.domainName(this.domain) });
    for (const tick of ticks(end, NARROW.matches ? 3 : 8)) {
      picture.append(svg('line', { class: 'rule', x1: x(tick), x2: x(tick), y1: top - 4, y2: height }),
        svg('text', { x: x(tick), y: 12, 'text-anchor': 'middle' }, tick === 0 ? '0' : time(Math.round(tick))));
    }
    let y = top, before = -1;
    for (const track of tracks) {
      if (track.site !== before) {
        picture.append(svg('line', { class: 'rule', x1: 0, x2: right, y1: y, y2: y }),
          svg('text', { class: 'strong', x: 0, y: y + 13 }, this.model.rankName(track.site)));
      }
      before = track.site;
      picture.append(svg('text', { x: left - 10, y: y + 13, 'text-anchor': 'end' }, track.name));
      track.spans.forEach((span, i) => {
        picture.append(svg('rect', {
          class: 'span ' + track.kind, x: x(span.begin), y: y + 3 + track.laneOf[i] * laneHeight(track.lanes),
          width: Math.max(0.75, x(span.end) - x(span.begin)), height: laneHeight(track.lanes) - 1,
          'fill-opacity': ROUND_SHADES[span.round % ROUND_SHADES.length],
          pointerenter: () => this.say(span),
        }));
      });
      y += trackHeight(track);
    }
    if (!tracks.length) picture.append(svg('text', { x: left, y: top + 14 }, 'Nothing moves here in these rounds.'));
    this.picture.replaceChildren(picture);
    this.readout.textContent = this.model.domainName(this.domain) + ', ' + roundsText(this.window) +
      (this.window.first_round === 0 ? '.' : '; everything before counts as done.');
  }

  say(span) {
    this.readout.textContent = 'Round ' + count(span.round) + ': ' + bytes(span.amount) + ' from ' +
      this.model.rankName(span.from) + ' to ' + this.model.rankName(span.to) +
      (span.copy ? ', copied inside the domain' : '') + ', ' + time(span.begin) + ' to ' + time(span.end);
  }
}

function roundsText(window) {
  return window.end_round === window.first_round + 1 ? 'round ' + count(window.first_round)
    : 'rounds ' + count(window.first_round) + ' to ' + count(window.end_round - 1);
}

function trackHeight(track) { return Math.max(18, track.lanes * laneHeight(track.lanes) + 6); }

// Each span gets the first lane that is free by then.
function lanesOf(spans) {
  const free = [];
  const laneOf = spans.map((span) => {
    const found = free.findIndex((until) => until <= span.begin + 1e-6);
    const lane = found < 0 ? free.length : found;
    free[lane] = span.end;
    return lane;
  });
  return { laneOf, lanes: free.length };
}
