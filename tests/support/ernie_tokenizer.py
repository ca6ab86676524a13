"""A small tokenizer built like ERNIE-4.5's, for what only such a tokenizer shows.

BPE with byte fallback and no pre-tokenizer, U+2581 for spaces and none put in front, ERNIE's
names of control tokens and its chat template. Its ids are its own. Trained on the sentences below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

BEGIN, END = "<|begin_of_sentence|>", "<|end_of_sentence|>"
CONTROL = ["<unk>", "<s>", "</s>", *(f"<mask:{i}>" for i in range(8)), BEGIN, END]
BYTES = [f"<0x{i:02X}>" for i in range(256)]

TEMPLATE = """\
{%- if not add_generation_prompt is defined -%}
    {%- set add_generation_prompt = true -%}
{%- endif -%}
{%- if not cls_token is defined -%}
    {%- set cls_token = "<|begin_of_sentence|>" -%}
{%- endif -%}
{%- if not sep_token is defined -%}
    {%- set sep_token = "<|end_of_sentence|>" -%}
{%- endif -%}
{{- cls_token -}}
{%- for message in messages -%}
    {%- if message["role"] == "user" -%}
        {{- "User: " + message["content"] + "\n" -}}
    {%- elif message["role"] == "assistant" -%}
        {{- "Assistant: " + message["content"] + sep_token -}}
    {%- elif message["role"] == "system" -%}
        {{- message["content"] + "\n" -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- "Assistant: " -}}
{%- endif -%}
"""

TEXT = """\
User: Why is the sky blue? Assistant: Air scatters short waves of light more than long ones.
The train to the coast leaves at seven in the morning and comes back late in the evening.
She wrote the letter twice, read it once, and sent it with the first boat of the year.
A good program does one thing, says what it does, and stops when it is asked to stop.
Boil the water, add the rice, wait for twelve minutes, and do not lift the lid before then.
def add(first, second): return first + second  # the sum of two numbers
User: 天空为什么是蓝色的？ Assistant: 因为空气散射短波的光比长波的光更多。
早上七点有一班去海边的火车，晚上很晚才回来。她把信写了两遍，读了一遍，然后寄了出去。
好的程序只做一件事，说清楚自己在做什么，让它停下来的时候就停下来。
先把水烧开，再放米，等十二分钟，在那之前不要打开盖子。北京是中国的首都，长城很长。
今天天气很好，我们一起去公园散步，看见很多人在湖边钓鱼，孩子们在草地上放风筝。
"""


def write_ernie_tokenizer(folder: Path) -> Path:
    """tokenizer.json and tokenizer_config.json in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "tokenizer.json", _tokenizer())
    names = {
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<unk>",
        "cls_token": BEGIN, "sep_token": END, "mask_token": "<mask:1>",
    }  # fmt: skip
    config = names | {
        "additional_special_tokens": ["<mask:4>", "<mask:5>", "<mask:6>", "<mask:7>"],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 131072,
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
    }
    _write(folder / "tokenizer_config.json", config)
    return folder


def _tokenizer() -> dict[str, Any]:
    trained = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=CONTROL, initial_alphabet=[], show_progress=False
    )
    trained.train_from_iterator(TEXT.splitlines(), trainer)
    trained.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    content: dict[str, Any] = json.loads(trained.to_str())
    learned = sorted(content["model"]["vocab"], key=content["model"]["vocab"].get)[len(CONTROL) :]
    pieces, merges = _spelled_out()
    vocab = dict.fromkeys([*CONTROL, *BYTES, *learned, *pieces])
    content["model"] |= {
        "vocab": {token: i for i, token in enumerate(vocab)},
        "merges": [*merges, *content["model"]["merges"]],
    }
    content["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    content["pre_tokenizer"] = None
    return content


def _spelled_out() -> tuple[list[str], list[list[str]]]:
    """Merges that lead to control and byte tokens letter by letter: a tokenizer converted from
    SentencePiece gets a merge for any two pieces that make a third."""
    pieces: list[str] = []
    merges: list[list[str]] = []
    for token in ("<s>", "</s>", "<mask:4>", END, "<0x0A>"):
        pieces += token
        for end in range(2, len(token) + 1):
            pieces.append(token[:end])
            merges.append([token[: end - 1], token[end - 1]])
    unique = {tuple(pair): None for pair in merges}
    known = set(CONTROL) | set(BYTES)
    return [p for p in dict.fromkeys(pieces) if p not in known], [list(p) for p in unique]


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def ernie_with(folder: Path, **changes: Any) -> Path:
    """An ERNIE folder with some of tokenizer_config.json replaced; None takes a key out."""
    write_ernie_tokenizer(folder)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({k: v for k, v in config.items() if v is not None}))
    return folder
