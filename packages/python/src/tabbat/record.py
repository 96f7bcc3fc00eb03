import copy
from typing import Any, Dict

#: Fields that tell nothing about a person, wherever they stand. `state` is not one: the next of kin has it too.
SHOWN = {"id", "mode", "rows", "line", "status", "success", "code", "operation", "request_reference", "service_type"}


class Record(Dict[str, Any]):
    """A dict of the response. Its `repr` shows the names of fields, and values only where they tell nothing about a person."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{key!r}: {value!r}" if key in SHOWN else f"{key!r}: …" for key, value in self.items())
        return f"{{{shown}}}"

    __str__ = __repr__

    def __copy__(self) -> "Record":
        return Record(self)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Record":
        return Record((key, copy.deepcopy(value, memo)) for key, value in self.items())

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("Records of Tabbat cannot be pickled. Keep the reference instead.")
