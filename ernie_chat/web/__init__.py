"""What only a browser needs: answers in frames, states, settings panel. No vLLM."""
