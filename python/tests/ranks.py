"""Ranks as threads of the test's process, and topologies for them."""
import threading


def on_all(ranks, work):
    """Runs work(rank) for all ranks at once: its result or its exception, by rank."""
    results = {}

    def run(rank):
        try:
            results[rank] = work(rank)
        except Exception as error:  # judged by the test
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def one_node(ranks):
    """A topology of one node; rank i is GPU i."""
    return {
        "format": "reshard-topo", "version": 1,
        "node_types": {"t": {"gpus": ranks, "nics": {"for": ranks, "name": "n{i}", "bw": 50,
                                                     "gpu": "{i}"}}},
        "nodes": [{"names": "h0", "type": "t"}],
        "scaleup": [{"name": "nvl-{node}", "per": "node", "bw": 370}],
        "fabrics": [{"name": "ib", "kind": "flat", "lat": 5}],
        "ranks": [{"ranks": "0-%d" % (ranks - 1), "nodes": "h0", "order": "node-major"}],
    }


def whole_layout(side, rank, tensors):
    """A layout in which one rank has all of each tensor: name -> (shape, dtype)."""
    return {
        "format": "reshard-layout", "version": 1, "side": side, "rank_base": rank,
        "logical": [{"name": name, "shape": list(shape), "dtype": dtype}
                    for name, (shape, dtype) in tensors.items()],
        "meshes": {"one": {"axes": ["a"], "ranks": [rank]}},
        "params": [{"name": name, "tensor": name, "mesh": "one", "placements": ["R"]}
                   for name in tensors],
    }
