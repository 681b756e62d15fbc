"""What the schedules of the suite have to reach: ratios only, so that every machine gives the same.

`missed` compares rows of `tools/bench suite` with the bars. A miss that docs/schedule.md explains is
known: it is stated with its figure, and stays one only as long as it is not worse than that.
"""
import statistics

# Key of a row, what it is, the least or most that each case may have, the most of the median.
AT_MOST = [
    ("balance", "balance", 1.01, 1.003),
    ("ratio", "simulated at 20 us", 1.05, 1.03),
    ("slow_ratio", "simulated at 50 us", 1.05, None),
]
# A baseline may be faster than the plan by half a per cent.
AT_LEAST = [("best_other_ratio", "the best baseline", 0.995)]

# (case, key): the figure that is known, and why; docs/schedule.md has the long form.
KNOWN = {
    ("one-domain", "balance"): (1.016, "some ranks alone hold more than their NICs' share"),
    ("one-domain", "ratio"): (1.116, "both sides are busy to the end: slices that are not full"),
    ("one-domain", "slow_ratio"): (1.153, "the same, in slices half as large"),
    ("one-domain", "best_other_ratio"): (0.928, "a load model without rounds"),
}

# Figures are compared as they are printed.
DIGITS = 3


def _text(name, what, value, relation, bar):
    return "%s: %s is %.*f, %s %s" % (name, what, DIGITS, value, relation, bar)


def missed(rows, whole):
    """Lines of bars that were missed: those that nobody knows, and the known ones.

    Medians count only where the rows are the `whole` suite.
    """
    new, known = [], []

    def judge(row, key, what, bar, is_worse, relation):
        value = round(row[key], DIGITS)
        if not is_worse(value, bar):
            return
        line = _text(row["name"], what, value, relation, bar)
        figure, why = KNOWN.get((row["name"], key), (None, None))
        if figure is None or is_worse(value, figure):
            new.append(line)
        else:
            known.append("%s (known: %s)" % (line, why))

    for row in rows:
        for key, what, most, _ in AT_MOST:
            judge(row, key, what, most, lambda value, bar: value > bar, "at most")
        for key, what, least in AT_LEAST:
            judge(row, key, what, least, lambda value, bar: value < bar, "at least")
    for key, what, _, most in AT_MOST if whole else []:
        if most is None:
            continue
        median = round(statistics.median(row[key] for row in rows), DIGITS)
        if median > most:
            new.append(_text("median", what, median, "at most", most))
    return new, known
