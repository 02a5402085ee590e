"""A few things that were used last, by key: what is kept in memory because it will be asked for again.

Everything that outlives the call it was made in is kept in one of these, so that a process that lives for months holds
no more than it did after its first day.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Holds things for any thread; when they weigh more than `capacity`, those used longest ago go first.

    Each weighs 1, or what `weight` says, and besides what `key_weight` says of its key. Things may grow while they are
    held: each is weighed when it is used, and all of them once as many uses have passed as there are things, so
    whatever grows is noticed though nobody asks for it here. The last one used stays, whatever its weight.
    """

    def __init__(
        self, capacity: int, weight: Callable[[V], int] = lambda _: 1, key_weight: Callable[[K], int] = lambda _: 0
    ) -> None:
        self.capacity = capacity
        self._weight = weight
        self._key_weight = key_weight
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        self._total = 0
        self._uses = 0
        self._lock = Lock()

    @property
    def total(self) -> int:
        """What all things weighed that are held, when each was weighed last."""
        return self._total

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def get(self, key: K) -> V | None:
        """What is held under `key`."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._used(key, found)
            return found

    def put(self, key: K, value: V) -> None:
        """Hold `value` under `key`; others may have to go."""
        with self._lock:
            self._held[key] = value
            self._used(key, value)

    def forget(self, keys: Iterable[K]) -> None:
        """Let go of what is held under `keys`, if it is."""
        with self._lock:
            for key in keys:
                if self._held.pop(key, None) is not None:
                    self._total -= self._weights.pop(key)

    def forget_where(self, goes: Callable[[K], bool]) -> None:
        """Let go of what is held under keys that `goes` says so of."""
        with self._lock:
            keys = [key for key in self._held if goes(key)]
        self.forget(keys)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._weights.clear()
            self._total = 0

    def _used(self, key: K, value: V) -> None:
        self._held.move_to_end(key)
        self._weigh(key, value)
        self._uses += 1
        if self._uses > len(self._held):
            self._uses = 0
            for other, held in self._held.items():
                self._weigh(other, held)
        while self._total > self.capacity and len(self._held) > 1:
            dropped, _ = self._held.popitem(last=False)
            self._total -= self._weights.pop(dropped)

    def _weigh(self, key: K, value: V) -> None:
        weight = self._weight(value) + self._key_weight(key)
        self._total += weight - self._weights.get(key, 0)
        self._weights[key] = weight
