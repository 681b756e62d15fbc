// The pairs of ranks that exchange most.

class Flows {
  constructor(model) {
    this.model = model;
    this.kind = 'all';
    this.root = el('div', {});
    this.list = el('div', {});
    this.root.append(el('div', { class: 'controls' }, choice('Show',
      [['all', 'all'], ['network', 'network'], ['inside', 'inside domains']], this.kind,
      (kind) => { this.kind = kind; this.draw(); })), this.list);
    this.draw();
  }

  draw() {
    const { model } = this;
    const pairs = [];
    for (let pair = 0; pair < model.pairs; ++pair) {
      if (this.kind === 'all' || model.isNetwork(pair) === (this.kind === 'network')) pairs.push(pair);
    }
    const order = (a, b) => model.amount[b] - model.amount[a] || a - b;
    pairs.sort(order);
    const end = (site) => [model.rankName(site), el('span', { class: 'soft' }, ' ' + model.domainName(model.domainOf(site)))];
    const row = (pair, i) => {
      const network = model.isNetwork(pair);
      const all = network ? model.summary.network_bytes : model.summary.scaleup_bytes;
      return [count(i + 1), end(model.from[pair]), end(model.to[pair]),
        [el('i', { class: network ? 'swatch' : 'swatch nvl' }), network ? 'network' : 'inside the domain'],
        bytes(model.amount[pair]), network ? count(model.messages[pair]) : '–', percent(model.amount[pair] / all)];
    };
    this.list.replaceChildren(paged(pairs.length, 15, (limit) => table(
      [['', true], ['from'], ['to'], ['over'], ['bytes', true], ['messages', true], ['of all', true]],
      pairs.slice(0, limit).map(row))));
  }
}
