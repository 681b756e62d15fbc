"""Arrays of elements that know where they come from: what an engine's loader does to weights, done to
the places of weights. Slow and plain, in no way like the compiler's index maps."""
import itertools


class Elements:
    """An array; `data` is row-major and holds (tensor, index), or None for padding."""

    def __init__(self, shape, data):
        self.shape = tuple(shape)
        self.data = list(data)

    @staticmethod
    def whole(name, shape):
        return Elements(shape, ((name, index)
                                for index in itertools.product(*(range(n) for n in shape))))

    def indices(self):
        return itertools.product(*(range(n) for n in self.shape))

    def at(self, index):
        flat = 0
        for i, extent in zip(index, self.shape):
            flat = flat * extent + i
        return self.data[flat]

    def take(self, dim, chosen):
        """The chosen positions along a dim, in their order."""
        chosen = list(chosen)
        shape = self.shape[:dim] + (len(chosen),) + self.shape[dim + 1:]
        return Elements(shape, (
            self.at(index[:dim] + (chosen[index[dim]],) + index[dim + 1:])
            for index in itertools.product(*(range(n) for n in shape))))

    def part(self, dim, number, count):
        """Part `number` of `count` equal ones."""
        size, rest = divmod(self.shape[dim], count)
        assert rest == 0, (self.shape, dim, count)
        return self.take(dim, range(number * size, (number + 1) * size))

    def chunk(self, dim, number, count):
        """As torch.chunk: parts of the extent divided and rounded up, the last ones short or empty."""
        size = -(-self.shape[dim] // count)
        begin = min(number * size, self.shape[dim])
        return self.take(dim, range(begin, min(begin + size, self.shape[dim])))

    def padded(self, rows):
        """With padding up to this many rows."""
        inner = 1
        for extent in self.shape[1:]:
            inner *= extent
        return Elements((rows,) + self.shape[1:],
                        self.data + [None] * ((rows - self.shape[0]) * inner))

    def transposed(self):
        rows, columns = self.shape
        return Elements((columns, rows), (self.at((r, c)) for c in range(columns)
                                          for r in range(rows)))

    def expert(self, number):
        return self.take(0, [number]).reshaped(self.shape[1:])

    def reshaped(self, shape):
        return Elements(shape, self.data)


def joined(parts):
    """One after the other along dim 0."""
    return Elements((sum(part.shape[0] for part in parts),) + parts[0].shape[1:],
                    itertools.chain.from_iterable(part.data for part in parts))


def stacked(parts):
    return Elements((len(parts),) + parts[0].shape,
                    itertools.chain.from_iterable(part.data for part in parts))
