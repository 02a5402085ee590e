"""Programs that measure one thing each, mostly of the library alone: `python -m benchmarks NAME`."""
