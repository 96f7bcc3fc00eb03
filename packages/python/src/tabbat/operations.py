"""One function for each operation: it says what is sent and what the result is. client.py and async_client.py run it."""

import json
import re
import uuid
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from .error import TabbatError, invalid_argument, unexpected_response
from .results import VerificationResult, to_result
from .sending import Answer, Call, Plan, Settings, send, stream

BATCHES = "/api/v2/kyc/batches"
#: A NIN or a BVN, or a virtual NIN.
NUMBER = r"[0-9]{11}|[A-Z]{2}[0-9]{12}[A-Z]{2}"


def verify(
    settings: Settings,
    path: str,
    request: Mapping[str, Any],
    *,
    idempotency_key: Optional[str],
    consent_reference: Optional[str],
    purpose: Optional[str],
    respond_async: Union[bool, int],
    timeout_s: Optional[float],
) -> "Plan[VerificationResult[Any]]":
    """The Idempotency-Key is made before the first attempt and kept for all of them: an answer is not paid for again."""
    sent = {name: value for name, value in request.items() if value is not None}
    headers = to_post_headers(idempotency_key)
    if consent_reference is not None:
        headers["x-consent-reference"] = to_header("consent_reference", consent_reference, 100)
    if purpose is not None:
        headers["x-purpose"] = to_header("purpose", purpose, 40)
    if respond_async is not False:
        headers["prefer"] = to_prefer(respond_async)
    call = Call("POST", path, headers, to_json(sent), list_personal(sent), timeout_s, is_result=is_not_verified)
    answer = yield from send(settings, call)
    result = to_result(answer.status, answer.headers, answer.body)
    if result.verified and is_of_another(result.person, sent):
        raise unexpected_response(answer.status)
    return result


def get_pending(settings: Settings, reference: str, timeout_s: Optional[float]) -> "Plan[VerificationResult[Any]]":
    path = to_verification_path(reference)
    answer = yield from send(settings, Call("GET", path, timeout_s=timeout_s, is_result=is_not_verified))
    return to_result(answer.status, answer.headers, answer.body)


def cancel_pending(settings: Settings, reference: str, timeout_s: Optional[float]) -> Plan[None]:
    yield from send(settings, Call("DELETE", to_verification_path(reference), timeout_s=timeout_s))


def list_internet_bundles(settings: Settings, provider: str, timeout_s: Optional[float]) -> Plan[List[Any]]:
    path = f"/api/v2/internet/data/{quote(provider, safe='')}/lookup"
    answer = yield from send(settings, Call("GET", path, timeout_s=timeout_s))
    return read_list(answer.status, read_data(answer, dict).get("data"))


def list_sme_bundles(settings: Settings, timeout_s: Optional[float]) -> Plan[List[Any]]:
    answer = yield from send(settings, Call("GET", "/api/v2/sme-data/list", timeout_s=timeout_s))
    return read_list(answer.status, read_data(answer, list))


def list_tv_add_ons(
    settings: Settings, type_: str, product_code: str, timeout_s: Optional[float]
) -> Plan[List[Any]]:
    path = f"/api/v2/cable-tv/fetch-tv-add-ons?{urlencode({'type': type_, 'productCode': product_code})}"
    answer = yield from send(settings, Call("GET", path, timeout_s=timeout_s))
    return read_list(answer.status, read_data(answer, list))


def create_batch(
    settings: Settings,
    rows: Sequence[Mapping[str, Any]],
    idempotency_key: Optional[str],
    timeout_s: Optional[float],
) -> Plan[Any]:
    rows = list(rows)
    if not all(isinstance(row, Mapping) for row in rows):
        raise invalid_argument("A row of a batch must be a dict.")
    sent = [text for row in rows for text in list_personal(row)]
    headers = to_post_headers(idempotency_key)
    call = Call("POST", BATCHES, headers, to_json(rows), sent, timeout_s, is_large=True)
    return read_data((yield from send(settings, call)), dict)


def get_batch(settings: Settings, batch_id: str, timeout_s: Optional[float]) -> Plan[Any]:
    call = Call("GET", to_batch_path(batch_id), timeout_s=timeout_s)
    return read_data((yield from send(settings, call)), dict)


def cancel_batch(settings: Settings, batch_id: str, timeout_s: Optional[float]) -> Plan[Any]:
    call = Call("DELETE", to_batch_path(batch_id), timeout_s=timeout_s)
    return read_data((yield from send(settings, call)), dict)


def get_batch_results(settings: Settings, batch_id: str, timeout_s: Optional[float]) -> Plan[None]:
    headers = {"accept": "application/x-ndjson"}
    path = f"{to_batch_path(batch_id)}/results"
    return stream(settings, Call("GET", path, headers, timeout_s=timeout_s, is_stream=True))


def is_not_verified(error: TabbatError) -> bool:
    return error.status == 422 and error.code == "not_verified"


def is_of_another(person: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
    """Whether the record has another number than was sent. For a virtual NIN it may have the NIN; a key may not see the number."""
    for name in ("nin", "bvn"):
        asked, given = str(sent.get(name, "")).strip().upper(), person.get(f"{name}_number")
        if re.fullmatch(NUMBER, asked) and isinstance(given, str) and re.fullmatch(NUMBER, given):
            return len(given) == len(asked) and given != asked
    return False


def read_data(answer: Answer, kind: type) -> Any:
    """The `data` of a successful response."""
    content = answer.body if isinstance(answer.body, dict) else {}
    data = content.get("data")
    if content.get("success") is not True or not isinstance(data, kind):
        raise unexpected_response(answer.status)
    return data


def read_list(status: int, items: Any) -> "List[Dict[str, Any]]":
    """Items of the catalogue. They are not about people: plain dicts, which `repr` shows."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise unexpected_response(status)
    return [dict(item) for item in items]


def list_personal(request: Mapping[str, Any]) -> "List[str]":
    """An amount and an operation are not personal, and may be found in other texts."""
    return [str(value) for name, value in request.items() if name not in ("amount", "operation") and value != ""]


def to_json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError):
        pass
    # Outside of the handler: what it caught could be shown as the context of this one.
    raise invalid_argument("A value of the request cannot be sent as JSON.")


def to_post_headers(idempotency_key: Optional[str]) -> Dict[str, str]:
    key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    return {
        "content-type": "application/json",
        "idempotency-key": to_header("idempotency_key", key, 255),
    }


def to_header(name: str, value: Any, max_length: int) -> str:
    if isinstance(value, str) and len(value) <= max_length and re.fullmatch(r"[\x21-\x7e]+", value):
        return value
    raise invalid_argument(f"{name} must be 1 to {max_length} visible ASCII characters without spaces.")


def to_prefer(respond_async: Any) -> str:
    if respond_async is True:
        return "respond-async"
    if isinstance(respond_async, int) and 0 <= respond_async <= 3600:
        return f"respond-async, wait={respond_async}"
    raise invalid_argument("respond_async must be True, False or a whole number of seconds.")


def to_verification_path(reference: Any) -> str:
    if isinstance(reference, str) and re.fullmatch(r"ver_[A-Za-z0-9_]+", reference):
        return f"/api/v2/kyc/verifications/{reference}"
    raise invalid_argument("reference must be the reference of a verification: ver_…")


def to_batch_path(batch_id: Any) -> str:
    if isinstance(batch_id, str) and re.fullmatch(r"bat_[A-Za-z0-9_]+", batch_id):
        return f"{BATCHES}/{batch_id}"
    raise invalid_argument("batch_id must be the id of a batch: bat_…")
