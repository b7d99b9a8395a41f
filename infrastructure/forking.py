"""Stores whose process is forked: the child has nothing to do with its parent's connections.

In the child the parent's other threads are gone, and Python lets go of what was theirs before
anybody is told of the fork. So the connections are held on to from before it.
"""

import os
import weakref
from collections.abc import Iterable
from typing import Protocol

from turnledger.infrastructure.held import Held


class Store(Protocol):
    """What is told of a fork."""

    def connections(self) -> Iterable[Held]:
        """Those of all threads."""
        ...

    def after_fork(self) -> None:
        """In the child: use connections of its own."""


_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_parents: list[Held] = []  # in a child they are never closed


def tell_of_forks(store: Store) -> None:
    """Let a store know, as long as it lives."""
    _stores.add(store)


def _before() -> None:
    _parents.extend(held for store in list(_stores) for held in store.connections())


def _in_child() -> None:
    for held in _parents:
        held.abandon()
    for store in list(_stores):
        store.after_fork()


os.register_at_fork(before=_before, after_in_parent=_parents.clear, after_in_child=_in_child)
