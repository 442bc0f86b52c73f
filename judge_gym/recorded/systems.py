"""Items that several systems answered: a prompt and a system make an item together."""

from dataclasses import replace

from judge_gym.recorded.judged import RecordedItem, RecordedWindow
from judge_gym.recorded.mapping import Recorded


def item_name(key: str, system: str) -> str:
    """Return the name of an item whose key several systems have."""
    return f"{key} · {system}"


def key_of(item: RecordedItem) -> str:
    """Return the key of an item as its file has it, which several systems may share."""
    return item.key.removesuffix(f" · {item.system}") if item.system else item.key


class Systems:
    """Tells the items of one key and several systems apart.

    Pairs are not told apart: their system may be either of two, by the order shown.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._applies = bool(recorded.item.system) and not recorded.of_pairs
        self._first: dict[tuple[str, str], str] = {}
        self._several = False

    def told_apart(self, window: str, item: RecordedItem) -> RecordedItem:
        """Return an item, named by its system where an earlier one of its key has another."""
        if not self._applies:
            return item
        first = self._first.setdefault((window, item.key), item.system)
        if first == item.system or not (first and item.system):
            return item
        self._several = True
        return replace(item, key=item_name(item.key, item.system))

    def rename(self, window: RecordedWindow) -> None:
        """Name all items by key and system, where one key has several systems."""
        if not self._several:
            return
        names = {
            key: key if key.endswith(f" · {item.system}") else item_name(key, item.system)
            for key, item in window.items.items()
        }
        window.items = {
            names[key]: replace(item, key=names[key]) for key, item in window.items.items()
        }
        window.labels = {names[key]: of for key, of in window.labels.items()}
        for given in window.judgements.values():
            given[:] = [replace(one, item=names[one.item]) for one in given]
