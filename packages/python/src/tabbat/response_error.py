import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .error import TabbatError, unexpected_response
from .retry import read_retry_after

RETRYABLE_STATUSES = (408, 425, 429, 502, 503, 504)


def response_error(status: int, headers: Mapping[str, str], body: Any, sent: Sequence[str]) -> TabbatError:
    """The error of a response that is not a success. `sent` are the texts of the request, which it must not quote."""
    content = to_dict(body)
    code = content.get("code")
    is_tabbat = isinstance(code, str) and re.fullmatch(r"[a-z_]{1,64}", code) is not None
    request_id = to_safe(content.get("request_id", headers.get("x-request-id")), sent)
    reference = to_safe(to_dict(content.get("data")).get("request_reference"), sent)
    options: Dict[str, Any] = {
        "retryable": content.get("retryable") is True if is_tabbat else status in RETRYABLE_STATUSES,
        "request_id": only(r"[A-Za-z0-9_.-]{8,64}", request_id),
        "reference": only(r"ver_[0-9a-z]{20,60}", reference),
        "fields": to_fields(content.get("errors"), sent),
        "retry_after_s": read_retry_after(headers),
    }
    if status == 401:
        message = "The API key is missing, wrong, revoked or expired."
        return TabbatError("unauthenticated", message, status=status, **options)
    if not is_tabbat:
        return unexpected_response(status, **options)
    message = to_safe(content.get("message"), sent) or f"HTTP {status} {code}."
    return TabbatError(str(code), message, status=status, **options)


def only(pattern: str, text: Optional[str]) -> Optional[str]:
    return text if text is not None and re.fullmatch(pattern, text) else None


def to_dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def to_fields(errors: Any, sent: Sequence[str]) -> Optional[Dict[str, List[str]]]:
    fields: Dict[str, List[str]] = {}
    for name, problems in to_dict(errors).items():
        if not re.fullmatch(r"[A-Za-z_-]{1,64}", name) or to_safe(name, sent) is None:
            continue
        texts = problems if isinstance(problems, list) else []
        fields[name] = [to_safe(text, sent) or f"{name} is wrong" for text in texts]
    return fields or None


def to_safe(text: Any, sent: Sequence[str]) -> Optional[str]:
    """A server must not quote values of the request, and a proxy might: such a text is dropped."""
    if not isinstance(text, str):
        return None
    lower = text.lower()
    words = set(re.split(r"[\W_]+", lower))
    digits = to_digits(lower)

    def is_quoted(value: str) -> bool:
        own_digits = to_digits(value)
        return (
            value in words
            or (len(value) > 3 and value in lower)
            or (len(own_digits) > 6 and own_digits[-7:] in digits)
        )

    return None if any(is_quoted(value.strip().lower()) for value in sent) else text


def to_digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)
