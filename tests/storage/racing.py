"""A program that several processes run at once: create each of some names if absent, and say which ones it created.

It is given the location and options as JSON, says "ready", and begins when a line comes in.
"""

import json
import sys

from coalesce.storage import open_storage

location, options, me, names = json.loads(sys.argv[1])
storage = open_storage(location, options=options)
print("ready", flush=True)  # noqa: T201 - how it talks to the test
sys.stdin.readline()
print(json.dumps([name for name in names if storage.put_if_absent(name, me.encode() * 1000)]))  # noqa: T201 - likewise
