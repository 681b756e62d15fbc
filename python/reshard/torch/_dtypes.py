"""PyTorch's words for dtypes, as `reshardc import` reads them."""

from __future__ import annotations

import torch


def dtype_word(dtype: torch.dtype) -> str:
    """"bfloat16"."""
    return str(dtype).replace("torch.", "")
