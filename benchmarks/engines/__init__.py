"""Engines: ours and what people use now, each behind the same few operations (`engine.py`), listed in `registry.py`."""
