"""The benchmarks, a program: `python -m benchmarks` says what it can do."""
