"""One rank of a job of torch.distributed over Gloo: executes a plan and says what happened, as JSON.

Arguments: folder rank processes task. The folder holds plan.fb.
"""
import json
import os
import signal
import sys
import time

sys.path.insert(0, "python/tests")
import native  # noqa: E402

reshard = native.use_built()
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from reshard.torch import Executor  # noqa: E402

VICTIM = 3
TIMEOUT = {"kill": 60, "stop": 4, "cut": 4}


def rows(step):
    """The whole of the tensor "w": a number for each element and step."""
    return torch.arange(16 * 6, dtype=torch.float64).reshape(16, 6) + 1000 * step


def make(plan, rank, **changes):
    """The executor of a rank, and its tensors: halves of rows at two trainers, "norm" at all."""
    trainer = rank < 2
    tensors = {"w": torch.zeros(8, 6, dtype=torch.float64) if trainer
               else torch.zeros(16, 3, dtype=torch.float64), "norm": torch.zeros(5)}
    tensors.update(changes.pop("tensors", {}))
    executor = Executor(plan, **{"source" if trainer else "destination": tensors}, **changes)
    return executor, tensors


def train(rank, tensors, step):
    if rank < 2:
        tensors["w"].copy_(rows(step).chunk(2, 0)[rank])
        tensors["norm"].fill_(step)


def right(rank, tensors, step):
    return rank < 2 or (torch.equal(tensors["w"], rows(step).chunk(2, 1)[rank - 2])
                        and torch.equal(tensors["norm"], torch.full((5,), float(step))))


def join(folder, name, rank, processes):
    dist.init_process_group("gloo", init_method=f"file://{folder}/{name}", rank=rank,
                            world_size=processes)


def steps(plan, rank, _):
    executor, tensors = make(plan, rank, timeout=60)
    found = []
    for step in (1, 2, 3):
        train(rank, tensors, step)
        found.append([executor.step(), right(rank, tensors, step)])
    return {"rank": executor.rank, "steps": found, "delivered": executor.stats.delivered_bytes,
            "sent": executor.stats.sent_bytes}


def group(plan, rank, _):
    """The plan's ranks are the last processes, in another order."""
    members = dist.new_group([4, 3, 2, 1])
    if rank == 0:
        return {}
    member = dist.get_rank(members)
    executor, tensors = make(plan, plan.ranks[member], process_group=members, timeout=60)
    train(executor.rank, tensors, 1)
    return {"rank": executor.rank,
            "steps": [[executor.step(), right(executor.rank, tensors, 1)]]}


def fail(plan, rank, folder, task):
    executor, tensors = make(plan, rank, timeout=TIMEOUT[task])
    train(rank, tensors, 1)
    executor.step()
    train(rank, tensors, 2)
    if rank == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL if task == "kill" else signal.SIGSTOP)
    answer = second_step(executor)
    if task == "kill":
        answer["after"] = go_on(folder, rank, executor, tensors)
    return answer


def second_step(executor):
    """What the step that cannot succeed said."""
    begin = time.monotonic()
    try:
        executor.step()
        return {"error": ""}
    except reshard.ReshardError as error:
        state = executor.state
        return {"error": str(error), "code": error.code, "seconds": time.monotonic() - begin,
                "started": state.started_generation, "complete": state.complete_generation,
                "failed": state.failed}


def go_on(folder, rank, executor, tensors):
    """The ranks that are left, with a plan for them, the same tensors and a group of their own."""
    executor.close()
    dist.destroy_process_group()
    join(folder, "survivors", rank, 3)
    plan = reshard.Plan.load(os.path.join(folder, "survivors.fb"))
    executor = Executor(plan, **{"source" if rank < 2 else "destination": tensors}, timeout=60)
    train(rank, tensors, 5)
    return [executor.step(), right(rank, tensors, 5)]


def network(plan, rank, folder):
    """Addresses by interface and by route; then steps over them."""
    addresses = [reshard.tcp.host_address()]
    interface = os.environ.pop("GLOO_SOCKET_IFNAME")
    addresses.append(reshard.tcp.host_address())
    os.environ["GLOO_SOCKET_IFNAME"] = interface
    return dict(steps(plan, rank, folder), addresses=addresses)


def cut(plan, rank, folder):
    """Says when it is between two steps, and goes on when the network is cut."""
    executor, tensors = make(plan, rank, timeout=TIMEOUT["cut"])
    train(rank, tensors, 1)
    executor.step()
    train(rank, tensors, 2)
    with open(os.path.join(folder, f"waits{rank}"), "w", encoding="ascii"):
        pass
    while not os.path.exists(os.path.join(folder, "is_cut")):
        time.sleep(0.01)
    return second_step(executor)


def kill(plan, rank, folder):
    return fail(plan, rank, folder, "kill")


def stop(plan, rank, folder):
    return fail(plan, rank, folder, "stop")


def refused(plan, rank, _):
    """What is wrong on one rank is an error on all, and names it."""
    found = {}
    cases = {
        "meta": {"tensors": {"norm": torch.zeros(5, device="meta")}} if rank == 2 else {},
        "backends": {"backend": "nccl"} if rank == 1 else {},
        "missing": {"tensors": {"norm": 5}} if rank == 3 else {},
        "dtype": {"tensors": {"norm": torch.zeros(5, dtype=torch.complex64)}} if rank == 3 else {},
        "sparse": {"tensors": {"norm": torch.zeros(5).to_sparse()}} if rank == 0 else {},
        "replica": {"replica": [99]} if rank == 1 else {},
        "verify": {"verify_executions": 1} if rank == 2 else {},
    }
    for name, changes in cases.items():
        try:
            make(plan, rank, **changes)
            found[name] = ""
        except (ValueError, reshard.ReshardError) as error:
            found[name] = str(error)
    half = dist.new_group([0, 1])
    if rank < 2:
        try:
            make(plan, rank, process_group=half)
        except ValueError as error:
            found["size"] = str(error)
        try:
            reshard.nccl.nccl_backend(plan, half, 0)
        except reshard.ReshardError as error:
            found["nccl"] = str(error)
        try:
            reshard.tcp.tcp_backend(plan, half, address="203.0.113.7" if rank == 1 else None)
        except reshard.ReshardError as error:
            found["address"] = str(error)
    return found


def main(folder, rank, processes, task):
    import reshard.nccl  # noqa: F401
    import reshard.tcp  # noqa: F401
    torch.set_num_threads(1)
    join(folder, "all", rank, processes)
    plan = reshard.Plan.load(os.path.join(folder, "plan.fb"))
    answer = {"steps": steps, "group": group, "kill": kill, "stop": stop, "refused": refused,
              "network": network, "cut": cut}[task](plan, rank, folder)
    with open(os.path.join(folder, f"{rank}.json"), "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    if task in ("kill", "stop", "cut"):
        os._exit(0)  # Gloo may wait for the dead
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
