// The search box, its results, and what is known of one tensor.

const MOST_RESULTS = 60;

class TensorView {
  constructor(model) {
    this.model = model;
    this.index = new TensorIndex(model.tensors);
    this.input = el('input', {
      type: 'search', id: 'tensor-search', autocomplete: 'off', spellcheck: 'false',
      placeholder: 'Search ' + plural(this.index.total, 'tensor') + ' by name', 'aria-label': 'Search tensors',
      input: () => this.search(), keydown: (event) => this.key(event, -1),
    });
    this.results = el('div', { 'aria-live': 'polite' });
    this.detail = el('div', { id: 'tensor' });
    this.root = el('div', {}, this.input, this.results, this.detail);
    this.search();
  }

  search() {
    const query = this.input.value.trim();
    if (!query) return this.showTemplates();
    const { found, total } = this.index.search(query, MOST_RESULTS);
    this.showResults(found.map((tensor) => ({
      name: tensor.name, kind: this.kind(tensor.of), pick: () => this.open(tensor),
    })));
    const searched = this.index.total > MOST_NAMES ? ' of the first ' + count(MOST_NAMES) + ' names' : '';
    this.results.append(el('p', { class: 'more' }, total === 0 ? 'No tensor has this in its name.'
      : plural(total, 'tensor') + searched + (total > found.length ? ', the first ' + found.length + ' shown' : '')));
  }

  // Before anything is asked: the templates.
  showTemplates() {
    const { supers } = this.index;
    this.showResults(supers.slice(0, MOST_RESULTS).map((template, of) => ({
      name: describe(template.name, template.loops),
      kind: plural(loopCount(template), 'tensor') + ' · ' + this.kind(of),
      pick: () => this.open({ of, values: template.loops.filter((_, i) => i % 2 === 0),
        name: instance(template.name, template.loops.filter((_, i) => i % 2 === 0)) }),
    })));
    if (supers.length > MOST_RESULTS) this.results.append(el('p', { class: 'more' }, count(supers.length - MOST_RESULTS) + ' more'));
  }

  kind(of) {
    const { dtype, shape } = this.index.supers[of];
    return dtype + ' [' + shape.join(', ') + ']';
  }

  showResults(rows) {
    this.buttons = rows.map((row, i) => el('button', {
      type: 'button', class: 'plain', click: row.pick, keydown: (event) => this.key(event, i),
    }, el('code', { class: 'name' }, row.name), el('span', { class: 'kind' }, row.kind)));
    this.results.replaceChildren(el('ul', { class: 'results' }, this.buttons.map((button) => el('li', {}, button))));
  }

  // From the box (-1) down the results and back.
  key(event, at) {
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === 'Enter' && at < 0 && this.input.value.trim() && this.buttons.length) this.buttons[0].click();
    if (event.key === 'Escape' && at >= 0) this.input.focus();
    if (next === undefined) return;
    event.preventDefault();
    if (next < 0) this.input.focus();
    else if (next < this.buttons.length) this.buttons[next].focus();
  }

  // Shows the tensor, and names it in the page's address.
  open(tensor) {
    this.show(tensor);
    history.replaceState(null, '', '#tensor=' + encodeURIComponent(tensor.name));
    this.detail.scrollIntoView({ block: 'nearest' });
  }

  openByName(name) {
    const tensor = this.index.find(name);
    if (tensor) this.show(tensor);
    return tensor !== undefined;
  }

  show(tensor) {
    this.rank = undefined;
    const rank = el('input', {
      type: 'number', min: 0, 'aria-label': 'Only destination rank',
      input: () => { this.rank = rank.value === '' ? undefined : Number(rank.value); this.origins(tensor); },
    });
    this.originTable = el('div', {});
    this.detail.replaceChildren(el('div', { class: 'detail' },
      el('h3', {}, el('code', {}, tensor.name), el('span', { class: 'soft' }, '  ' + this.kind(tensor.of))),
      el('p', { class: 'soft' }, 'Held by'), this.places(tensor, 0),
      el('h3', {}, 'Where it comes from'),
      el('div', { class: 'controls' }, el('label', { class: 'choice' }, el('span', {}, 'Only for destination rank'), rank)),
      this.originTable));
    this.origins(tensor);
  }

  param(place) {
    return [el('code', {}, this.index.paramName(place)), el('span', { class: 'soft' }, ' at ' + this.index.paramIndex(place))];
  }

  places(tensor, side) {
    const list = this.index.boxes(tensor, side).flatMap((box) => this.index.parts(tensor, [box]));
    if (!list.length) return el('p', {}, side === 0 ? 'no source rank' : 'no destination rank');
    return paged(list.length, 8, (limit) => table(
      [['ranks'], ['elements'], ['bytes', true], ['param']],
      list.slice(0, limit).map(({ runs, bytes: amount, places: [place] }) => [
        this.index.ranks(place), el('code', {}, slices(runs)), bytes(amount), this.param(place)])));
  }

  // The command that tells more of one rank's param; not for names that a shell would read otherwise.
  explain(place) {
    const param = this.index.paramName(place);
    if (this.rank === undefined || !SHELL_WORD.test(param) || !SHELL_WORD.test(this.model.name)) return '';
    return el('p', { class: 'more' }, 'Which of them sends it, and when: ', el('code', {},
      'reshardc explain ' + this.model.name + ' --rank ' + this.rank + ' --param ' + param + ' --why'));
  }

  // What each destination place gets, by the source places that hold it.
  origins(tensor) {
    const held = this.index.boxes(tensor, 0);
    const rows = [];
    for (const to of this.index.boxes(tensor, 1)) {
      if (rows.length >= MOST_PARTS) break;
      if (this.rank !== undefined && !this.index.hasRank(to, this.rank)) continue;
      for (const from of held) rows.push(...this.index.parts(tensor, [from, to]));
    }
    if (!rows.length) {
      this.originTable.replaceChildren(el('p', {}, this.rank === undefined ? 'No destination rank needs it.'
        : 'Rank ' + this.rank + ' needs nothing of it.'));
      return;
    }
    this.originTable.replaceChildren(el('div', {}, paged(rows.length, 16, (limit) => table(
      [['elements'], ['bytes', true], ['needed by'], ['param'], ['held by'], ['param']],
      rows.slice(0, limit).map(({ runs, bytes: amount, places: [from, to] }) => [
        el('code', {}, slices(runs)), bytes(amount), this.index.ranks(to), this.param(to),
        this.index.ranks(from), this.param(from)]))),
      rows.length >= MOST_PARTS && el('p', { class: 'more' }, 'There are more parts; name a rank to see its own.'),
      this.explain(rows[0].places[1])));
  }
}
