"""What vLLM is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ernie_chat.config.settings import Settings
from ernie_chat.engine.cpu import fast_dtype, usable_cores
from ernie_chat.engine.options import engine_arguments, environment
from ernie_chat.errors import SettingsError
from ernie_chat.model.source import Generation, Model

MODEL = Model(
    folder=Path("/models/some"),
    name="some",
    wanted="some",
    source="folder",
    generation=Generation(),
    stop_token_ids=(2,),
    context_length=2048,
)


def test_the_context_is_what_both_allow() -> None:
    assert engine_arguments(Settings(), MODEL, cuda=False)["max_model_len"] == 2048
    short = Settings(context_length=1024)
    assert engine_arguments(short, MODEL, cuda=False)["max_model_len"] == 1024


def test_a_gpu_gets_what_it_can_use_and_nothing_of_the_cpu() -> None:
    arguments = engine_arguments(Settings(), MODEL, cuda=True)
    assert arguments["dtype"] == "auto"
    assert arguments["gpu_memory_utilization"] == 0.5
    assert arguments["enforce_eager"] is False
    assert not arguments.keys() & {"kv_cache_memory_bytes", "distributed_executor_backend"}
    assert "TORCHDYNAMO_DISABLE" not in environment(Settings(), cuda=True)
    assert "OMP_NUM_THREADS" not in environment(Settings(), cuda=True)


def test_a_cpu_starts_in_one_process_and_compiles_nothing() -> None:
    arguments = engine_arguments(Settings(kv_cache_gib=0.5), MODEL, cuda=False)
    assert arguments["distributed_executor_backend"] == "uni"
    assert arguments["kv_cache_memory_bytes"] == 2**29
    assert arguments["enforce_eager"] is True
    variables = environment(Settings(), cuda=False)
    assert variables["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert variables["TORCHDYNAMO_DISABLE"] == "1"


def test_compiled_graphs_can_be_asked_for() -> None:
    settings = Settings(enforce_eager=False)
    assert engine_arguments(settings, MODEL, cuda=False)["enforce_eager"] is False
    assert "TORCHDYNAMO_DISABLE" not in environment(settings, cuda=False)


@pytest.mark.parametrize("cuda", [True, False])
def test_nothing_goes_out_and_no_foreign_code_runs(cuda: bool) -> None:
    variables = environment(Settings(), cuda=cuda)
    assert variables["HF_HUB_OFFLINE"] == variables["VLLM_NO_USAGE_STATS"] == "1"
    assert engine_arguments(Settings(), MODEL, cuda=cuda)["trust_remote_code"] is False


def test_a_block_size_for_gpus_is_refused_on_a_cpu() -> None:
    settings = Settings(block_size=16)
    assert engine_arguments(settings, MODEL, cuda=True)["block_size"] == 16
    with pytest.raises(SettingsError, match="multiple of 32"):
        engine_arguments(settings, MODEL, cuda=False)


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("fpu avx2 avx512f", "float32"),
        ("fpu avx512_bf16", "bfloat16"),
        ("fpu amx_bf16 amx_tile", "bfloat16"),
    ],
)
def test_dtype_follows_what_the_cpu_multiplies(tmp_path: Path, flags: str, dtype: str) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert fast_dtype(cpuinfo=file) == dtype


def test_a_cpu_that_says_nothing_gets_float32(tmp_path: Path) -> None:
    assert fast_dtype(cpuinfo=tmp_path / "none") == "float32"
    (tmp_path / "arm").write_text("processor : 0\nFeatures : fp asimd\n")
    assert fast_dtype(cpuinfo=tmp_path / "arm") == "float32"


def test_a_containers_quota_bounds_the_threads(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    free = usable_cores(topology=tmp_path, quota=quota)
    assert free >= 1
    quota.write_text("max 100000\n")
    assert usable_cores(topology=tmp_path, quota=quota) == free
    quota.write_text("50000 100000\n")
    assert usable_cores(topology=tmp_path, quota=quota) == 1


def test_two_hardware_threads_are_one_core(tmp_path: Path) -> None:
    import os

    for cpu in os.sched_getaffinity(0):
        place = tmp_path / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text("0-1\n")
    assert usable_cores(topology=tmp_path, quota=tmp_path / "none") == 1
