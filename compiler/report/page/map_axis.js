const MOST_CELLS = 64;  // along an axis of the map

// One side of the map: the sites of a set (those that send anything), domain by domain.
class MapAxis {
  constructor(model, ends) {
    this.model = model;
    this.sites = [...ends].filter((site) => site !== undefined).sort((a, b) => model.domainOf(a) - model.domainOf(b) || a - b);
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

// Part of each position; -1 outside of all parts.
function lookup(parts, positions) {
  const part = new Int32Array(positions).fill(-1);
  parts.forEach(({ begin, end }, i) => part.fill(i, begin, end));
  return part;
}
