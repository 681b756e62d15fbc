// How busy each NIC is: the time that its bytes take, against the bound and the predicted time.

class NicBars {
  constructor(model) {
    this.model = model;
    const { bytes_per_s, send, receive } = model.nics;
    this.out = send.map((amount, nic) => bytes_per_s[nic] ? amount / bytes_per_s[nic] * 1e9 : 0);
    this.in = receive.map((amount, nic) => bytes_per_s[nic] ? amount / bytes_per_s[nic] * 1e9 : 0);
    this.bound = model.summary.bound_ns;
    this.predicted = model.summary.predicted_ns;
    this.domains = this.byDomain();
    this.end = Math.max(this.predicted, this.bound, ...this.domains.map((domain) => domain.most), 1);
    this.open = new Set(this.domains.length <= 2 ? this.domains.map((domain) => domain.id) : []);
    this.list = el('div', {});
    this.root = el('div', {}, el('p', { class: 'stat' }, this.busiest()), this.list);
    this.draw(12);
  }

  // In words: the busiest NIC against the bound and the predicted time.
  busiest() {
    const total = plural(this.model.nics.name.length, 'NIC');
    if (!this.domains.length || !this.domains[0].most) return total + ', and nothing passes them.';
    const nic = this.domains[0].nics[0], most = this.domains[0].most;
    return total + '. The busiest is ' + this.model.nics.name[nic] + ', for ' + time(Math.round(most)) +
      (this.bound >= 1e3 ? ': ' + percent(most / this.bound) + ' of the bound, ' : ': ') +
      percent(most / this.predicted) + ' of the predicted time.';
  }

  busy(nic) { return Math.max(this.out[nic], this.in[nic]); }

  // Domains with their NICs, the busiest first.
  byDomain() {
    const nics = new Map();
    this.model.sites.nics.forEach((list, site) => {
      const domain = this.model.domainOf(site);
      if (!nics.has(domain)) nics.set(domain, new Set());
      list.forEach((nic) => nics.get(domain).add(nic));
    });
    const domains = [...nics].map(([id, set]) => {
      const list = [...set].sort((a, b) => this.busy(b) - this.busy(a) || a - b);
      return { id, nics: list, most: list.reduce((most, nic) => Math.max(most, this.busy(nic)), 0) };
    });
    return domains.sort((a, b) => b.most - a.most || a.id - b.id);
  }

  draw(shown) {
    this.list.replaceChildren(paged(this.domains.length, shown, (limit) => el('div', { class: 'loads' },
      el('span', { class: 'head' }, 'domain'), this.axis(), el('span', { class: 'head amount' }, 'receives / sends'),
      this.domains.slice(0, limit).map((domain) => this.domainRows(domain)))));
  }

  axis() {
    const labels = [[this.bound, 'bound', 'strong'], [this.predicted, 'predicted', '']];
    const near = Math.abs(this.bound - this.predicted) < 0.28 * this.end;
    return svg('svg', { role: 'img', 'aria-label': 'bound ' + time(this.bound) + ', predicted ' + time(this.predicted) },
      near ? svg('text', { class: 'strong', x: '100%', y: 13, 'text-anchor': 'end' },
          'bound ' + time(this.bound) + ', predicted ' + time(this.predicted))
        : labels.map(([ns, name, strong]) => svg('text', {
          class: strong, x: this.share(ns), y: 13, 'text-anchor': ns > this.end / 2 ? 'end' : 'start',
        }, name + ' ' + time(ns))));
  }

  share(ns) { return (100 * ns / this.end).toFixed(3) + '%'; }

  domainRows(domain) {
    const least = (list) => list.length ? Math.min(...list) : 0;
    const most = (list) => list.length ? Math.max(...list) : 0;
    const received = domain.nics.map((nic) => this.in[nic]), sent = domain.nics.map((nic) => this.out[nic]);
    const total = (column) => domain.nics.reduce((sum, nic) => sum + this.model.nics[column][nic], 0);
    const name = this.model.domainName(domain.id);
    const button = el('button', { type: 'button', class: 'plain label', title: name, click: () => toggle() });
    const amount = el('span', { class: 'amount' }, bytes(total('receive')) + ' / ' + bytes(total('send')));
    let rows = [];
    const show = () => {
      const open = this.open.has(domain.id);
      rows.forEach((node) => node.remove());
      rows = open ? this.nicRows(domain) : [];
      button.setAttribute('aria-expanded', String(open));
      button.textContent = (open ? '▾ ' : '▸ ') + name;
    };
    const toggle = () => {
      if (!this.open.delete(domain.id)) this.open.add(domain.id);
      show();
      amount.after(...rows);
    };
    show();
    return [button, this.bars([least(received), most(received)], [least(sent), most(sent)]), amount, ...rows];
  }

  nicRows(domain) {
    return domain.nics.flatMap((nic) => [
      el('span', { class: 'label nic', title: this.model.nics.name[nic] }, this.model.nics.name[nic]),
      this.bars([this.in[nic], this.in[nic]], [this.out[nic], this.out[nic]]),
      el('span', { class: 'amount' }, bytes(this.model.nics.receive[nic]) + ' / ' + bytes(this.model.nics.send[nic])),
    ]);
  }

  // Two bars: receiving above sending. Solid up to the least busy NIC, paler up to the busiest.
  bars(received, sent) {
    const bar = ([least, most], y) => [
      svg('rect', { class: 'net part', x: 0, y, width: this.share(most), height: 6 }),
      svg('rect', { class: 'net', x: 0, y, width: this.share(least), height: 6 })];
    const line = (name, ns) => ns > 0 && svg('line', {
      class: name, x1: this.share(ns), x2: this.share(ns), y1: 0, y2: 18 });
    const words = 'receives for ' + time(Math.round(received[1])) + ', sends for ' + time(Math.round(sent[1]));
    return svg('svg', { role: 'img', 'aria-label': words }, svg('title', {}, words),
      svg('rect', { class: 'track', width: '100%', height: 18 }),
      bar(received, 2), bar(sent, 10), line('time-line', this.predicted), line('bound-line', this.bound));
  }
}
