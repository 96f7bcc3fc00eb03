import re
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Mapping, Optional, TypedDict, TypeVar, Union, cast

from .error import unexpected_response

Person = TypeVar("Person")
MatchLevel = Literal["exact", "partial", "no"]


class Match(TypedDict, total=False):
    first_name: MatchLevel
    last_name: MatchLevel
    date_of_birth: MatchLevel


@dataclass(frozen=True)
class Verified(Generic[Person]):
    """The record exists and its phone is the phone of the request."""

    reference: str
    #: A dict. It is left out of `repr`.
    person: Person = field(repr=False)
    #: How the names and the date of birth of the request compare with the record, if some were given and could be compared.
    match: Optional[Match] = None
    verified: Literal[True] = field(default=True, init=False)
    pending: Literal[False] = field(default=False, init=False)


@dataclass(frozen=True)
class NotVerified:
    """There is no such record, or the phone differs."""

    reference: str
    verified: Literal[False] = field(default=False, init=False)
    pending: Literal[False] = field(default=False, init=False)


@dataclass(frozen=True)
class Pending:
    """Neither of both yet: ask again with `pending.get(reference)`."""

    reference: str
    verified: Literal[False] = field(default=False, init=False)
    pending: Literal[True] = field(default=True, init=False)


VerificationResult = Union[Verified[Person], NotVerified, Pending]


def to_result(status: int, headers: Mapping[str, str], body: Any) -> "VerificationResult[Any]":
    """VERIFIED needs all its signs, so that no odd response is taken for it."""
    content = body if isinstance(body, dict) else {}
    data = content.get("data")
    reference = data.get("request_reference") if isinstance(data, dict) else None
    if isinstance(data, dict) and isinstance(reference, str) and reference:
        state = data.get("verification_status")
        if status == 200 and content.get("success") is True and state == "VERIFIED":
            return Verified(reference, data, read_match(headers.get("tabbat-match")))
        if status == 422 and state == "NOT_VERIFIED":
            return NotVerified(reference)
        if status == 202 and state == "PENDING":
            return Pending(reference)
    raise unexpected_response(status)


def read_match(header: Optional[str]) -> Optional[Match]:
    """`Tabbat-Match: first_name=exact, date_of_birth=no`."""
    return None if header is None else cast(Match, dict(re.findall(r"(\w+)=(\w+)", header)))
