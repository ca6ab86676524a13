"""The engine behind one small interface: start, stream(token ids) -> deltas, health."""
