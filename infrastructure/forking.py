"""Stores whose process is forked: the child has nothing to do with its parent's connections."""

import os
import weakref
from typing import Protocol


class Store(Protocol):
    """What is told of a fork."""

    def after_fork(self) -> None:
        """In the child: use connections of its own, and never close the parent's."""


_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def tell_of_forks(store: Store) -> None:
    """Let a store know, as long as it lives."""
    _stores.add(store)


def _after_fork() -> None:
    for store in list(_stores):
        store.after_fork()


os.register_at_fork(after_in_child=_after_fork)
