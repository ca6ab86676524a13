"""ERNIE Chat: a private Chinese/English chat on one vLLM engine, in one process.

Rooms: `web` (browser), `chat` (a conversation over a tokenizer), `engine` (vLLM), `model`
(weights and tokenizer), `config` (settings), `measure` (replay, bench). Importing any of them
starts nothing. No room knows both Chainlit and vLLM.
"""

__version__ = "0.1.0"
