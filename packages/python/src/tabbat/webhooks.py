import base64
import binascii
import hashlib
import hmac
import json
import re
import sys
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from .error import TabbatError, invalid_argument, without_frames

MAX_SIGNATURES = 16


@dataclass(frozen=True)
class WebhookEvent:
    #: The same for every delivery of an event: ignore one that you have seen.
    id: str
    type: str
    timestamp: str
    #: `reference`, `status` and more. It never holds personal data.
    data: Mapping[str, Any]


def verify(
    headers: Mapping[str, str],
    body: Union[bytes, str],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_s: float = 300,
) -> WebhookEvent:
    """The event, if its signature is right and it is recent; else an error with the code `invalid_signature`.

    :param headers: Names in any case: `request.headers` of Django, Flask and FastAPI.
    :param body: The bytes as they arrived.
    :param secret: One secret or several, of which one must fit.
    :param tolerance_s: How old or how far ahead the timestamp may be.
    """
    outer = sys.exc_info()[1]
    try:
        return check(headers, body, secret, tolerance_s)
    except BaseException as error:
        # Tools that record the variables of a traceback do not find the secret.
        del secret
        raise without_frames(error, outer)


def check(
    headers: Mapping[str, str], body: Union[bytes, str], secret: Union[str, Sequence[str]], tolerance_s: float
) -> WebhookEvent:
    keys = [read_secret(each) for each in ([secret] if isinstance(secret, str) else secret or [""])]
    found = {str(name).lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (found.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    has_id = isinstance(event_id, str) and re.fullmatch(r"[\x21-\x7e]{1,255}", event_id)
    if not event_id or not has_id or not signatures or not re.fullmatch(r"[0-9]{1,12}", timestamp or ""):
        raise invalid_signature("The headers of the webhook are missing or wrong.")
    if not abs(time.time() - int(timestamp or 0)) <= tolerance_s:
        raise invalid_signature("The webhook is too old, or a clock is wrong.")
    # A text that is no UTF-8 fits no signature.
    content = body.encode(errors="surrogatepass") if isinstance(body, str) else bytes(body)
    signed = f"{event_id}.{timestamp}.".encode() + content
    given = [read_signature(text) for text in signatures.split(" ")[:MAX_SIGNATURES]]
    expected = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    # All are compared, each in constant time.
    fitting = [hmac.compare_digest(each, own) for each in given if each is not None for own in expected]
    if not any(fitting):
        raise invalid_signature("No signature of the webhook fits the secret.")
    return read_event(event_id, content)


def invalid_signature(message: str) -> TabbatError:
    return TabbatError("invalid_signature", message)


def read_secret(secret: Any) -> bytes:
    key = decode(re.sub(r"^whsec_", "", secret)) if isinstance(secret, str) else None
    if not key:
        raise invalid_argument("The secret of a webhook is whsec_ and text in base64.")
    return key


def read_signature(text: str) -> Optional[bytes]:
    return decode(text[3:]) if text.startswith("v1,") else None


def decode(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def read_event(event_id: str, content: bytes) -> WebhookEvent:
    event = parse(content)
    if not isinstance(event, dict):
        raise TabbatError("unexpected_response", "The body of the webhook is not JSON.")
    data = event.get("data")
    return WebhookEvent(
        event_id,
        str(event.get("type", "")),
        str(event.get("timestamp", "")),
        data if isinstance(data, dict) else {},
    )


def parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
