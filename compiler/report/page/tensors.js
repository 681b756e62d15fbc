// Tensors: search by name, and where a tensor lies, from the plan's places.
//
// A super-tensor is a template with loops: its tensors are one each per value of the loops, and its
// dims are those of the loops first. Places are boxes in these dims, so that a tensor's elements on
// one side are intersected with those on the other dim by dim.

const MOST_PARTS = 5000;  // of a tensor, and of two places: the rest is left out
const MOST_NAMES = 2e6;  // that are searched

class TensorIndex {
  constructor(json) {
    const names = unpackNames(json.names);
    this.supers = unpack(json.kind).map((kind, i) => ({ ...json.kinds[kind], name: pattern(names[i], json.kinds[kind]) }));
    const paramNames = unpackNames(json.param_names), ranks = unpack(json.param_ranks);
    this.params = unpack(json.param_kind).map((kind, i) => ({
      ...json.param_kinds[kind], name: pattern(paramNames[i], json.param_kinds[kind]), ranks: ranks[i] }));
    this.rankSets = json.rank_sets;
    this.places = this.supers.map(() => []);
    const kinds = json.place_kinds.map(placeDims);
    const numbers = unpackSigned(json.places);
    for (let i = 0, of = 0, param = 0; i < numbers.length; i += 5) {
      of += numbers[i];
      param += numbers[i + 1];
      this.places[of].push({ param, baseBytes: numbers[i + 2], baseInstance: numbers[i + 3], dims: kinds[numbers[i + 4]] });
    }
    this.total = this.supers.reduce((sum, of) => sum + loopCount(of), 0);
  }

  // All tensors as {of: super, values}, in order, with their names.
  *tensors() {
    let left = MOST_NAMES;
    for (let of = 0; of < this.supers.length; ++of) {
      const n = loopCount(this.supers[of]);
      for (let i = 0; i < n && left > 0; ++i, --left) {
        const values = unravel(i, this.supers[of].loops);
        yield { of, values, name: instance(this.supers[of].name, values) };
      }
    }
  }

  // Tensors whose names have all words of `query`, in any order; '*' stands for any text. At most
  // `limit` of them are kept, all are counted.
  search(query, limit) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => word.split('*'));
    const found = [];
    let total = 0;
    for (const tensor of this.tensors()) {
      const name = tensor.name.toLowerCase();
      if (!words.every((parts) => inOrder(name, parts))) continue;
      if (found.length < limit) found.push(tensor);
      ++total;
    }
    // A name that is the query itself comes first.
    found.sort((a, b) => (b.name === query) - (a.name === query));
    return { found, total };
  }

  find(name) {
    for (const tensor of this.tensors()) {
      if (tensor.name === name) return tensor;
    }
    return undefined;
  }

  // Where the tensor's elements lie on one side (0 source, 1 destination): boxes of one param each.
  boxes({ of, values }, side) {
    const { dims } = this.supers[of];
    const list = [];
    for (const place of this.places[of]) {
      if (this.params[place.param].side !== side) continue;
      let offset = place.baseBytes, item = place.baseInstance, holds = true;
      const box = [];
      const rest = values.slice();
      place.dims.forEach((dim, d) => {
        const axis = dims[2 * d], weight = dims[2 * d + 1];
        if (axis >= values.length) {
          box.push(dim);
          return;
        }
        const index = Math.floor(rest[axis] / weight);
        rest[axis] -= index * weight;
        if (index < dim.begin || index >= dim.begin + dim.extent) holds = false;
        item += (index - dim.begin) * dim.instanceStride;
        offset += (index - dim.begin) * dim.stride;
        box.push({ begin: index, extent: 1, stride: 0 });
      });
      if (holds) list.push({ param: place.param, offset, item, box });
    }
    return list;
  }

  // What boxes of one tensor share, as parts that are runs of indices in the tensor and evenly spaced
  // in each of the params: {runs, bytes, places: one per box, moved to where the part begins}.
  parts({ of, values }, boxes) {
    const { dims, shape } = this.supers[of];
    if (boxes.length === 2 && boxes[0].box.some((a, d) => apart(a, boxes[1].box[d]))) return [];
    const shared = boxes[0].box.map((first, d) => {
      const begin = Math.max(...boxes.map(({ box }) => box[d].begin));
      const end = Math.min(...boxes.map(({ box }) => box[d].begin + box[d].extent));
      return { begin, extent: end - begin, strides: boxes.map(({ box }) => box[d].stride),
        offsets: boxes.map(({ box }) => (begin - box[d].begin) * box[d].stride) };
    });
    let parts = [{ runs: [], bytes: this.supers[of].bytes, offsets: boxes.map(({ offset }) => offset) }];
    shape.forEach((_, axis) => {
      const own = shared.map((dim, d) => ({ ...dim, weight: dims[2 * d + 1] }))
        .filter((_, d) => dims[2 * d] === axis + values.length);
      const runs = axisRuns(own, boxes.length);
      parts = parts.flatMap((part) => runs.slice(0, MOST_PARTS).map((run) => ({
        runs: part.runs.concat(run), bytes: part.bytes * run.count, offsets: add(part.offsets, run.offsets),
      }))).slice(0, MOST_PARTS);
    });
    return parts.map((part) => ({ ...part,
      places: boxes.map((place, i) => ({ ...place, offset: part.offsets[i] })) }));
  }

  // "layers.0.w13 [0, 4, 0]": the param of a box and the index where it begins.
  paramName(place) {
    const param = this.params[place.param];
    return instance(param.name, unravel(place.item, param.loops));
  }
  paramIndex(place) {
    const param = this.params[place.param];
    let left = Math.floor(place.offset / param.bytes);
    const at = [];
    for (let d = param.shape.length - 1; d >= 0; --d) {
      at.unshift(left % param.shape[d]);
      left = Math.floor(left / param.shape[d]);
    }
    return '[' + at.join(', ') + ']';
  }

  // "0-7", "0,4,8,...,60 (16 ranks)".
  ranks(place) { return this.rankSets[this.params[place.param].ranks][0]; }
  hasRank(place, rank) {
    const runs = this.rankSets[this.params[place.param].ranks];
    for (let i = 1; i < runs.length; i += 5) {
      const [start, n, stride, outerCount, outerStride] = runs.slice(i, i + 5);
      for (let j = 0; j < outerCount; ++j) {
        const distance = rank - start - j * outerStride;
        if (distance >= 0 && distance % stride === 0 && distance / stride < n) return true;
      }
    }
    return false;
  }
}

// A name with tabs for its holes as [text, hole, text, ...].
function pattern(name, { holes }) {
  return name.split('\t').flatMap((text, i) => i === 0 ? [text] : [holes[i - 1], text]);
}

function placeDims(numbers) {
  const dims = [];
  for (let i = 0; i < numbers.length; i += 4) {
    dims.push({ begin: numbers[i], extent: numbers[i + 1], stride: numbers[i + 2], instanceStride: numbers[i + 3] });
  }
  return dims;
}

const loopCount = (of) => of.loops.reduce((product, value, i) => i % 2 ? product * value : product, 1);

// The values of loops [begin, extent, ...] at a place in their row-major order.
function unravel(index, loops) {
  const values = [];
  for (let i = loops.length - 2; i >= 0; i -= 2) {
    values.unshift(loops[i] + index % loops[i + 1]);
    index = Math.floor(index / loops[i + 1]);
  }
  return values;
}

// The name of one instance of a pattern [text, hole, text, ...].
function instance(pattern, values) {
  return pattern.map((part) => typeof part === 'string' ? part
    : values.reduce((sum, value, i) => sum + value * part[i + 1], part[0])).join('');
}

// "layers.{0..60}.w".
function describe(pattern, loops) {
  return pattern.map((part) => {
    if (typeof part === 'string') return part;
    let low = part[0], high = part[0];
    for (let i = 0; i < loops.length; i += 2) {
      const ends = [part[i / 2 + 1] * loops[i], part[i / 2 + 1] * (loops[i] + loops[i + 1] - 1)];
      low += Math.min(...ends);
      high += Math.max(...ends);
    }
    return low === high ? low : '{' + low + '..' + high + '}';
  }).join('');
}

function inOrder(text, parts) {
  let place = 0;
  for (const part of parts) {
    place = text.indexOf(part, place);
    if (place < 0) return false;
    place += part.length;
  }
  return true;
}

const apart = (a, b) => a.begin + a.extent <= b.begin || b.begin + b.extent <= a.begin;
const add = (a, b) => a.map((value, i) => value + b[i]);

// An axis as runs of indices. Dims, the heaviest first, that continue each other in the tensor and in
// every param are one run; an outer dim that does not is gone through index by index.
function axisRuns(dims, params) {
  let runs = [{ begin: 0, count: 1, step: 1, offsets: Array(params).fill(0), strides: Array(params).fill(0) }];
  for (const dim of dims.reverse()) {
    runs = runs.map((run) => ({ ...run, begin: run.begin + dim.begin * dim.weight, offsets: add(run.offsets, dim.offsets) }));
    if (dim.extent === 1) continue;
    const [inner] = runs;
    const continues = dim.weight === inner.step * inner.count &&
      dim.strides.every((stride, i) => stride === inner.strides[i] * inner.count);
    if (runs.length === 1 && inner.count === 1) {
      runs = [{ ...inner, count: dim.extent, step: dim.weight, strides: dim.strides }];
    } else if (runs.length === 1 && continues) {
      runs = [{ ...inner, count: inner.count * dim.extent }];
    } else {
      runs = Array.from({ length: Math.min(dim.extent, MOST_PARTS) }, (_, i) => runs.map((run) => ({
        ...run, begin: run.begin + i * dim.weight, offsets: add(run.offsets, dim.strides.map((stride) => i * stride)),
      }))).flat().slice(0, MOST_PARTS);
    }
  }
  return runs;
}

// "[0:64, 0:4096:2]": begin:end:step as array slices are written.
function slices(runs) {
  return '[' + runs.map(({ begin, count: n, step }) =>
    begin + ':' + (begin + (n - 1) * step + 1) + (step > 1 ? ':' + step : '')).join(', ') + ']';
}
