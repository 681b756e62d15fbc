"""Weights in PyTorch: executors that bind modules, and exporters that say where weights are."""

from .dtensor_export import export_dtensors
from .executor import Executor
from .mcore_export import export_mcore_sharded
from .record_loader import record_loader, save_recorded

__all__ = ["Executor", "export_dtensors", "export_mcore_sharded", "record_loader",
           "save_recorded"]
