"""The faults that must be survived, each executed."""
