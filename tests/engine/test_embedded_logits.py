"""The embedded checkpoint, read as ERNIE, computes what the same weights compute as Llama.

Llama's RoPE pairs each head's first half with its second, ERNIE's pairs neighbours: with the
rows of q and k put back into Llama's order, both must give the same logits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.model import embedded


@pytest.fixture(scope="module")
def ernie(embedded_folder: Path) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(embedded_folder, dtype=torch.float32)
    return model.eval()


def as_llama(ernie: Any) -> Any:
    """The same weights as `LlamaForCausalLM`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = ernie.config
    shared = (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "rms_norm_eps",
        "num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings",
        "tie_word_embeddings", "rope_parameters",
    )  # fmt: skip
    llama = LlamaForCausalLM(LlamaConfig(**{key: getattr(config, key) for key in shared}))

    def halves(rows: torch.Tensor) -> torch.Tensor:
        """Neighbouring pairs of rows, per head, to first half and second half."""
        heads = rows.view(-1, config.head_dim // 2, 2, config.hidden_size)
        return heads.transpose(1, 2).reshape(rows.shape)

    rotated = ("q_proj.weight", "k_proj.weight")
    weights = {
        name: halves(tensor) if name.endswith(rotated) else tensor
        for name, tensor in ernie.state_dict().items()
    }
    llama.load_state_dict(weights, strict=True)
    return llama.to(torch.float32).eval()


def test_ernie_form_equals_llama_form(ernie: Any, tokenizer: Tokenizer) -> None:
    import torch

    llama = as_llama(ernie)
    assert type(ernie).__name__ == "Ernie4_5ForCausalLM"
    text = "Water boils at 100 degrees. 水在一百度沸腾。 def f(x):\n    return x ** 2 🙂"
    ids = torch.tensor([tokenizer.encode(text)])
    with torch.no_grad():
        mine, theirs = ernie(ids).logits, llama(ids).logits
    assert mine.std() > 1
    torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=0)


def test_wrong_row_order_would_be_noticed(ernie: Any, tokenizer: Tokenizer) -> None:
    """The comparison above has teeth: without the reordering the logits differ widely."""
    import torch

    llama = as_llama(ernie)
    names = [name for name in llama.state_dict() if name.endswith("q_proj.weight")]
    llama.load_state_dict({n: ernie.state_dict()[n] for n in names}, strict=False)
    ids = torch.tensor([tokenizer.encode("Water boils at 100 degrees.")])
    with torch.no_grad():
        assert (ernie(ids).logits - llama(ids).logits).abs().max() > 1


def test_it_knows_something(ernie: Any, tokenizer: Tokenizer) -> None:
    import torch

    ids = torch.tensor([tokenizer.encode("The capital of France is")])
    made = ernie.generate(ids, do_sample=False, max_new_tokens=8, repetition_penalty=1.0)
    assert "Paris" in tokenizer.decode(made[0, ids.shape[1] :].tolist())


def test_tied_head_is_not_stored_twice(embedded_folder: Path) -> None:
    from safetensors import safe_open

    with safe_open(embedded_folder / "model.safetensors", framework="numpy") as weights:
        names = set(weights.keys())
    assert len(names) == 272
    assert "lm_head.weight" not in names
    assert embedded.is_whole(embedded_folder)
