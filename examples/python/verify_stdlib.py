"""Verifies a NIN and lists bundles with the standard library only. Python 3.9 or later."""

import json
import os
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = os.environ.get("TABBAT_URL", "http://127.0.0.1:8080").rstrip("/")
KEY = os.environ["TABBAT_KEY"]
ATTEMPTS = 4


class TabbatError(Exception):
    """A failure. The message never contains what was sent."""


def call(method, path, body=None, headers=None):
    """Sends a request, again if it may succeed later. All attempts have the same headers."""
    for attempt in range(1, ATTEMPTS + 1):
        last = attempt == ATTEMPTS
        try:
            status, answer, retry_after = send(method, path, body, headers or {})
        except (OSError, HTTPException):
            if last:
                raise TabbatError("no answer") from None  # The cause would show the request.
            wait("no answer", 1)
            continue
        if last or not answer.get("retryable", status >= 502):
            return status, answer
        wait(status, read_seconds(retry_after))


def send(method, path, body, headers):
    request = Request(URL + path, method=method, headers={"Authorization": f"Bearer {KEY}", **headers})
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        response = urlopen(request, timeout=30)
    except HTTPError as error:
        response = error  # urllib raises every status that is not 2xx; the error is the response.
    with response:
        return response.status, read_json(response.read()), response.headers.get("Retry-After")


def read_json(text):
    """A proxy in front of the server may answer in HTML."""
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def read_seconds(text):
    return min(int(text), 60) if text and text.isdigit() else 1


def wait(reason, seconds):
    print(f"{reason}, trying again in {seconds} s")
    time.sleep(seconds)


def verify_nin(nin, phone):
    # The same key for all attempts: a verification that was made is replayed, not made and paid again.
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    status, answer = call("POST", "/api/v2/kyc/verify-nin", {"nin": nin, "phone": phone}, headers)
    if status == 200:
        return f"verified: {answer['data']['request_reference']}"
    if status == 422 and answer.get("code") == "not_verified":
        return f"not verified: {answer['data']['request_reference']}"
    if status == 422 and answer.get("code") == "validation_failed":
        return "invalid: " + "; ".join(text for texts in answer["errors"].values() for text in texts)
    raise TabbatError(f"status {status}, code {answer.get('code')}, request {answer.get('request_id')}")


def list_bundles(provider):
    status, answer = call("GET", f"/api/v2/internet/data/{provider}/lookup")
    if status != 200:
        raise TabbatError(f"status {status}, code {answer.get('code')}, request {answer.get('request_id')}")
    return answer["data"]["data"]


# People of the sandbox. Not in the calls below, because a traceback quotes lines.
INPUTS = [("12345678901", "08031234567"), ("00000000422", "08031234567"), ("12345678901", "123")]

if __name__ == "__main__":
    for nin, phone in INPUTS:
        print(verify_nin(nin, phone))
    bundles = list_bundles("smile")
    print(f"bundles: {len(bundles)}, the first is {bundles[0]['code']} for {bundles[0]['price']} naira")
