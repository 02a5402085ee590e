"""A process that adopts a directory and is killed at the n-th call of the store that writes: `killed.py PATH N`."""

import os
import sys
from pathlib import Path

import coalesce
from coalesce.storage.local import LocalStorage


def main(path: str, number: int) -> None:
    """Adopt; die before the `number`-th file is created, by a signal that nothing can be done about."""
    created = LocalStorage.put_if_absent
    calls = 0

    def dying(self: LocalStorage, name: str, data: bytes) -> bool:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), 9)
        return created(self, name, data)

    setattr(LocalStorage, "put_if_absent", dying)  # noqa: B010 - a method of ours in the place of its own
    coalesce.adopt(Path(path))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
