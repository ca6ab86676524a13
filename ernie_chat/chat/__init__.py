"""A conversation, in plain Python over a tokenizer. No Chainlit, no vLLM."""
