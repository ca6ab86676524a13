"""What the engine should know about the CPU it runs on. Reads files; imports nothing heavy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

CPU_BLOCK_SIZE = 32
"""Tokens in a KV block. vLLM's default on a CPU is 128, which makes a short chat's prefix
uncacheable; its kernels want multiples of 32."""


def usable_cores(
    *,
    quota: Path = Path("/sys/fs/cgroup/cpu.max"),
) -> int:
    """Physical cores this process may use: bound by affinity and by the container's quota, which
    OpenMP ignores and then runs many more threads than get time."""
    import psutil

    logical = psutil.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or logical
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    cores = min(max(1, allowed * physical // logical), allowed)
    try:
        limit, period = quota.read_text().split()
        cores = min(cores, max(1, int(limit) // int(period)))
    except (OSError, ValueError):
        pass  # no quota: "max", or no such file
    return cores


def fast_dtype(*, cpuinfo: Path = Path("/proc/cpuinfo")) -> Literal["bfloat16", "float32"]:
    """bfloat16 where the CPU multiplies it itself, float32 elsewhere, where every bfloat16
    number would first be widened."""
    try:
        flags = next(
            line.split() for line in cpuinfo.read_text().splitlines() if line.startswith("flags")
        )
    except (OSError, StopIteration):
        return "float32"
    return "bfloat16" if {"avx512_bf16", "amx_bf16"} & set(flags) else "float32"
