"""Programs that measure: `python -m benchmarks` lists them, `python -m benchmarks planning` runs one."""
