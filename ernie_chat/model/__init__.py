"""Where weights and tokenizer come from: a folder, a hub, or the embedded model."""
