// A plan as the views read it: the embedded JSON with its packed parts unpacked.

class Model {
  constructor(json) {
    Object.assign(this, json);
    this.rankIndex = new Map(json.sites.rank.map((rank, site) => [rank, site]));
    this.unpackTraffic(json.traffic);
  }

  // Pairs of sites as columns: from, to, bytes, messages. Network pairs lie in two domains.
  unpackTraffic(traffic) {
    const numbers = unpack(traffic.packed);
    this.from = new Int32Array(traffic.pairs);
    this.to = new Int32Array(traffic.pairs);
    this.amount = new Float64Array(traffic.pairs);
    this.messages = new Float64Array(traffic.pairs);
    let pair = 0;
    for (let i = 0; i < numbers.length;) {
      const from = numbers[i++];
      let to = 0;
      for (let left = numbers[i++]; left > 0; --left, ++pair) {
        to += numbers[i++];
        const kind = numbers[i++];
        this.from[pair] = from;
        this.to[pair] = to;
        this.amount[pair] = traffic.bytes[kind];
        this.messages[pair] = traffic.messages[kind];
      }
    }
  }

  get pairs() { return this.from.length; }
  domainOf(site) { return this.sites.domain[site]; }
  isNetwork(pair) { return this.domainOf(this.from[pair]) !== this.domainOf(this.to[pair]); }
  domainName(domain) { return this.domains.name[domain]; }
  rankName(site) { return 'rank ' + this.sites.rank[site]; }
  // "rank 12, GPU 4 of infer0".
  rankPlace(site) {
    return this.rankName(site) + ', GPU ' + this.sites.gpu[site] + ' of ' +
      this.nodes[this.sites.node[site]];
  }
}
