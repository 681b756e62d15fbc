"""Reinforcement learning of a small transformer on CPUs: 2 trainer ranks, 4 inference ranks.

    torchrun --nproc-per-node 6 refit.py [--steps N]
    mpirun -n 6 python3 refit.py --mpi [--steps N]

Neither side knows the other's layout, and nobody writes one: the trainer exports its DTensors, the
engine's own loader is recorded, and both become inputs of the compiler. After each step of training
the plan moves the weights, and the engine has to compute the trainer's logits bit for bit.
"""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

import reshard
import reshard.mpi
import reshard.torch
from model import Engine, Trainer, checkpoint_shapes, forward

TRAINERS, ENGINES = 2, 4
FAVOURITE = 7  # the token that is rewarded


def say_where(side, rank, group):
    """What this rank's side says of its weights."""
    if isinstance(side, Trainer):
        return reshard.torch.export_dtensors(side.params, group)
    names = {name: (shape, torch.float32) for name, (shape, _) in checkpoint_shapes().items()}
    return reshard.torch.record_loader(side.params, side.load_weights, names, rank=rank)


def make_plan(side, rank, group):
    """Compiled once, by rank 0; the others get its bytes."""
    said = [None] * (TRAINERS + ENGINES)
    dist.all_gather_object(said, say_where(side, rank, group))
    shared = [None]
    if rank == 0:
        train = reshard.import_layout("dtensor", said[0])
        infer = reshard.import_layout("recorded-copies", *said[TRAINERS:])
        topo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "topo.json")
        shared = [reshard.compile(train, infer, topo).to_bytes()]
    dist.broadcast_object_list(shared, src=0)
    return reshard.Plan.from_bytes(shared[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--mpi", action="store_true", help="started by mpirun, weights go over MPI")
    parser.add_argument("--reshard", metavar="DIR", help="an installed tree in place of the wheel's")
    arguments = parser.parse_args()
    if arguments.reshard:
        reshard.use_installation(arguments.reshard)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="rl_refit_") as folder:
        join(folder, arguments.mpi)
        refit(arguments)
        dist.barrier()
        dist.destroy_process_group()


def join(own_folder, with_mpi):
    """The group of all processes: torchrun says who they are, or MPI does."""
    if not with_mpi:
        dist.init_process_group("gloo")
        return
    world = reshard.mpi.world()
    folder = world.broadcast_text(own_folder)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=world.rank,
                            world_size=world.size)


def refit(arguments):
    rank = dist.get_rank()
    trainers = dist.new_group(range(TRAINERS))
    engines = dist.new_group(range(TRAINERS, TRAINERS + ENGINES))
    is_trainer = rank < TRAINERS
    group = trainers if is_trainer else engines
    if is_trainer:
        side = Trainer(DeviceMesh.from_group(trainers, "cpu", mesh_dim_names=("tp",)))
    else:
        side = Engine(rank - TRAINERS, ENGINES, engines)
    plan = make_plan(side, rank, group)
    executor = reshard.torch.Executor(
        plan, source=side.params if is_trainer else None,
        destination=None if is_trainer else side.params,
        backend="mpi" if arguments.mpi else "auto")
    if rank == 0:
        print(f"plan {plan.digest[:12]}: {plan.stats.network_bytes:,} bytes over the network "
              f"in {plan.stats.messages} messages")
    run_steps(side, executor, rank, arguments.steps)
    executor.close()


def run_steps(side, executor, rank, steps):
    is_trainer = isinstance(side, Trainer)
    executor.step()  # the weights to begin with
    for step in range(steps):
        # The engine writes texts, the trainer learns from them.
        samples = [None]
        if not is_trainer:
            generator = torch.Generator().manual_seed(step)
            samples = [[side.generate(1, 7, generator) for _ in range(4)]]
        dist.broadcast_object_list(samples, src=TRAINERS)
        samples = samples[0]
        if is_trainer:
            learn(side, samples)
        generation = executor.step()
        # What the engine now computes is what the trainer computes.
        prompt = torch.tensor(samples[0])
        with torch.no_grad():
            logits = forward(side, prompt, side.group)
        expected = logits.clone()
        dist.broadcast(expected, src=0)
        equal = torch.tensor([int(torch.equal(expected, logits))])
        dist.all_reduce(equal, op=dist.ReduceOp.MIN)
        if not equal.item():
            raise SystemExit("the engine's logits are not the trainer's")
        if rank == 0:
            share = sum(text.count(FAVOURITE) for text in samples) / sum(map(len, samples))
            print(f"generation {generation}: {share:.2f} of the tokens are {FAVOURITE}; "
                  "logits equal bit for bit")


def learn(trainer, samples):
    """Texts with more favourite tokens than the average become likelier."""
    rewards = [text.count(FAVOURITE) / len(text) for text in samples]
    mean = sum(rewards) / len(rewards)
    loss = torch.zeros(())
    for text, reward in zip(samples, rewards):
        tokens = torch.tensor(text)
        likelihood = torch.log_softmax(forward(trainer, tokens[:-1], trainer.group), -1)
        chosen = likelihood.gather(-1, tokens[1:, None]).sum()
        loss = loss - (reward - mean + 0.01) * chosen
    trainer.update(loss, rate=0.05)


if __name__ == "__main__":
    main()
