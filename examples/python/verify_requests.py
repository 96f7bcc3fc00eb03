"""Verifies a NIN and lists bundles with requests (pip install requests). Python 3.9 or later."""

import os
import time
import uuid

import requests

URL = os.environ.get("TABBAT_URL", "http://127.0.0.1:8080").rstrip("/")
ATTEMPTS = 4

session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['TABBAT_KEY']}"


class TabbatError(Exception):
    """A failure. The message never contains what was sent."""


def call(method, path, body=None, headers=None):
    """Sends a request, again if it may succeed later. All attempts have the same headers."""
    for attempt in range(1, ATTEMPTS + 1):
        last = attempt == ATTEMPTS
        try:
            response = session.request(method, URL + path, json=body, headers=headers, timeout=30)
        except (requests.ConnectionError, requests.Timeout):
            if last:
                raise TabbatError("no answer") from None  # The cause would show the request.
            wait("no answer", 1)
            continue
        answer = read_json(response)
        if last or not answer.get("retryable", response.status_code >= 502):
            return response.status_code, answer
        wait(response.status_code, read_seconds(response.headers.get("Retry-After")))


def read_json(response):
    """A proxy in front of the server may answer in HTML."""
    try:
        answer = response.json()
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
