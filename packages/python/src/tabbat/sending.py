"""What is sent, when it is repeated, and how a response is read: once, for both clients.

The functions here do no input and output. They are generators that yield steps; a client does each step, with threads or with
asyncio, and sends back what came of it.
"""

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, Mapping, Optional, Sequence, TypeVar, Union
from urllib.parse import urlsplit

from .error import TabbatError, invalid_argument, unexpected_response
from .record import Record
from .response_error import response_error
from .retry import to_delay_s

#: No response of Tabbat is as large. That to a large body, a batch, tells of every refused row.
MAX_RESPONSE_BYTES = 8 * 1024 * 1024
MAX_LARGE_RESPONSE_BYTES = 128 * 1024 * 1024
MAX_TIME_S = 2_147_483.0
#: A retry with less time would end as a timeout, and hide the error before it. Shorter calls have a quarter of their time.
LEAST_TIME_S = 1.0

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    key: str = field(repr=False)
    base_url: str
    timeout_s: float
    attempt_timeout_s: float
    max_retries: int
    #: Of base_url.
    is_tls: bool = field(init=False)
    host: str = field(init=False)
    port: int = field(init=False)
    base_path: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not re.fullmatch(r"[\x21-\x7e]+", self.key):
            raise invalid_argument("key must be an API key: tbt_test_… or tbt_live_…")
        if not isinstance(self.max_retries, int) or self.max_retries < 0:
            raise invalid_argument("max_retries must be a whole number from 0.")
        check_time("timeout_s", self.timeout_s)
        check_time("attempt_timeout_s", self.attempt_timeout_s)
        for name, value in read_base_url(self.base_url).items():
            object.__setattr__(self, name, value)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("Clients of Tabbat cannot be pickled: they have a key.")


def read_base_url(base_url: Any) -> Dict[str, Any]:
    if isinstance(base_url, str) and re.fullmatch(r"[\x21-\x7e]+", base_url):
        try:
            url = urlsplit(base_url)
            port = url.port
        except ValueError:
            url, port = urlsplit(""), None
        is_plain = not (url.username or url.password or url.query or url.fragment)
        if url.scheme in ("http", "https") and url.hostname and is_plain:
            is_tls = url.scheme == "https"
            own = {"is_tls": is_tls, "host": url.hostname, "port": port or (443 if is_tls else 80)}
            base_path = url.path.rstrip("/")
            if base_path.endswith("/api/v2"):
                raise invalid_argument("base_url must not end in /api/v2: the client adds it.")
            return {**own, "base_path": base_path}
    raise invalid_argument("base_url must be an http or https address without credentials, query and hash.")


def check_time(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MAX_TIME_S:
        raise invalid_argument(f"{name} must be a number of seconds above 0.")


@dataclass(frozen=True, repr=False)
class Call:
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    #: Texts of the request that an error must not quote.
    sent: Sequence[str] = ()
    timeout_s: Optional[float] = None
    #: A body for which the time of one request is too short: it has the time of the whole call.
    is_large: bool = False
    #: The body of a success is read later, piece by piece.
    is_stream: bool = False
    #: Whether an error is a result: its response is returned.
    is_result: Callable[[TabbatError], bool] = lambda error: False

    def max_response_bytes(self) -> int:
        return MAX_LARGE_RESPONSE_BYTES if self.is_large else MAX_RESPONSE_BYTES


class Body:
    """A body that is not read yet. `close` ends it, and its connection unless all was read."""

    def close(self) -> None:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Response:
    status: int
    #: Names in lower case.
    headers: Mapping[str, str]
    content: Union[bytes, Body]


@dataclass(frozen=True, repr=False)
class Attempt:
    """Send the request: a Response, or a TabbatError."""

    call: Call
    timeout_s: float


@dataclass(frozen=True, repr=False)
class Wait:
    """Wait: nothing."""

    seconds: float


@dataclass(frozen=True, repr=False)
class Read:
    """Read more of a body: bytes, nothing at the end, or a TabbatError."""

    body: Body
    timeout_s: float


@dataclass(frozen=True, repr=False)
class Emit:
    """Give an object of a stream to the caller."""

    value: Any


Step = Union[Attempt, Wait, Read, Emit]
Plan = Generator[Step, Any, T]


@dataclass(frozen=True, repr=False)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any


def send(settings: Settings, call: Call) -> Plan[Answer]:
    """Sends a call with one deadline, and repeats what may succeed later."""
    timeout_s = settings.timeout_s if call.timeout_s is None else call.timeout_s
    check_time("timeout_s", timeout_s)
    ends_at = time.monotonic() + timeout_s
    least_s = min(LEAST_TIME_S, settings.attempt_timeout_s, timeout_s / 4)
    retries = 0
    while True:
        left_s = max(0.001, ends_at - time.monotonic())
        response = yield Attempt(call, left_s if call.is_large else min(left_s, settings.attempt_timeout_s))
        answer = response if isinstance(response, TabbatError) else read_answer(response, call)
        if isinstance(answer, Answer):
            return answer
        delay_s = to_delay_s(retries, answer.retry_after_s)
        is_too_late = time.monotonic() + delay_s + least_s > ends_at
        if not answer.retryable or retries >= settings.max_retries or is_too_late:
            raise answer
        yield Wait(delay_s)
        if time.monotonic() + least_s > ends_at:
            raise answer
        retries += 1


def read_answer(response: Response, call: Call) -> Union[Answer, TabbatError]:
    status, headers = response.status, response.headers
    if isinstance(response.content, Body):
        return Answer(status, headers, response.content)
    body = parse(response.content)
    answer = Answer(status, headers, body)
    if 200 <= status < 300 and (status == 204 or isinstance(body, dict)):
        return answer
    error = response_error(status, headers, body, call.sent)
    return answer if call.is_result(error) else error


def parse(content: bytes) -> Any:
    try:
        return json.loads(content, object_pairs_hook=Record)
    except (ValueError, RecursionError):
        return None


def stream(settings: Settings, call: Call) -> Plan[None]:
    """Emits the objects of an NDJSON body, as they arrive.

    A body that breaks is asked for again, and what was given before is left out: the server sends the same objects in the same
    order. `timeout_s` is for the beginning of a response, and for each wait for more of it.
    """
    timeout_s = settings.timeout_s if call.timeout_s is None else call.timeout_s
    given = retries = 0
    while True:
        answer = yield from send(settings, call)
        seen, rest = 0, b""
        try:
            while True:
                piece = yield Read(answer.body, timeout_s)
                if isinstance(piece, TabbatError):
                    break
                lines = (rest + (piece or b"")).split(b"\n")
                rest = lines.pop() if piece else b""
                for line in filter(None, lines):
                    seen += 1
                    if seen > given:
                        given, retries = seen, 0
                        yield Emit(read_object(line, answer.status))
                if len(rest) > MAX_RESPONSE_BYTES:
                    raise unexpected_response(answer.status)
                if not piece:
                    return
        finally:
            answer.body.close()
        if not piece.retryable or retries >= settings.max_retries:
            raise piece
        yield Wait(to_delay_s(retries))
        retries += 1


def read_object(line: bytes, status: int) -> Record:
    value = parse(line)
    if isinstance(value, Record):
        return value
    raise unexpected_response(status)
