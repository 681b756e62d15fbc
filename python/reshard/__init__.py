"""reshard: compiles, proves and executes transfer plans of model weights.

    plan = reshard.compile("train.json", "infer.json", "topo.json")
    executor = reshard.torch.Executor(plan, rank, source=trainer_model)
    executor.step()                      # after every step of training
"""

from ._library import use_installation
from .errors import CompileError, CompileWarning, Diagnostic, ReshardError
from .executor import Backend, ExecutionStats, ExecutorState, RankExecutor, loopback_backends
from .importers import import_layout
from .plan import Param, Plan, PlanStats, compile

__all__ = [
    "Backend", "CompileError", "CompileWarning", "Diagnostic", "ExecutionStats", "ExecutorState",
    "Param", "Plan", "PlanStats", "RankExecutor", "ReshardError", "compile", "import_layout",
    "loopback_backends", "use_installation",
]
