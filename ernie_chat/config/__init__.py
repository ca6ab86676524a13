"""Settings: every knob of the product, typed, in one place."""
