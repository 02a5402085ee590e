"""A program that appends to one table from many processes at once.

It is given, as JSON, a location with its options, how many processes and how many appends by each. It says "ready"
when all is imported, begins when a line comes in, and prints for each process the versions it was told it committed.
Processes are forked before anything has started a thread, so that they begin together and at once.
"""

import json
import os
import sys

import numpy as np
import pyarrow as pa

from coalesce.storage import open_storage
from tests.table.examples import events, opened

location, options, processes, appends = json.loads(sys.argv[1])


def work(process: int) -> list[int]:
    """Append one row at a time, of an app that two processes share."""
    table = opened(open_storage(location, options=options))
    return [table.append(events(f"app {process // 2}", [1000 * process + i])).version for i in range(appends)]


pa.array(np.zeros(1))  # the first of these imports pandas, if that is there; once here, not in every process
pa.set_cpu_count(1)
print("ready", flush=True)  # noqa: T201 - how it talks to the test
sys.stdin.readline()
children = []
for process in range(processes):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            os.write(writing, json.dumps(work(process)).encode())
            failed = 0
        finally:
            sys.stderr.flush()
            os._exit(failed)
    os.close(writing)
    children.append((child, reading))
answers = []
for child, reading in children:
    with os.fdopen(reading) as pipe:
        answers.append(pipe.read())
    os.waitpid(child, 0)
print(json.dumps([json.loads(answer or "null") for answer in answers]))  # noqa: T201 - likewise
