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
    topology: Path = Path("/sys/devices/system/cpu"),
    quota: Path = Path("/sys/fs/cgroup/cpu.max"),
) -> int:
    """Physical cores this process may use: bound by affinity and by the container's quota, which
    OpenMP ignores and then runs many more threads than get time."""
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
    else:
        allowed = set(range(os.cpu_count() or 1))
    cores = len({_siblings(topology, cpu) for cpu in allowed})
    try:
        limit, period = quota.read_text().split()
        return min(cores, max(1, int(limit) // int(period)))
    except (OSError, ValueError):
        return cores  # no quota: "max", or no such file


def _siblings(topology: Path, cpu: int) -> str:
    """The hardware threads that share a core with `cpu`."""
    try:
        return (topology / f"cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


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
