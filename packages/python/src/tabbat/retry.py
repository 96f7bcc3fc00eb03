import random
import re
import time
from email.utils import mktime_tz, parsedate_tz
from typing import Mapping, Optional

FIRST_DELAY_S = 0.5
MAX_DELAY_S = 8.0


def read_retry_after(headers: Mapping[str, str]) -> Optional[float]:
    """`Retry-After` as seconds or as a date, which is compared with the clock of the server."""
    text = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    until = read_date(text)
    if until is None:
        return None
    now = read_date(headers.get("date") or "")
    return max(0.0, until - (time.time() if now is None else now))


def read_date(text: str) -> Optional[float]:
    try:
        parsed = parsedate_tz(text)
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, IndexError):
        return None


def to_delay_s(retries: int, retry_after_s: Optional[float] = None) -> float:
    """Full jitter; after `Retry-After` never earlier than it says."""
    after_s = retry_after_s or 0.0
    longest_s = FIRST_DELAY_S if after_s > 0 else min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** min(retries, 10))
    return after_s + random.random() * longest_s
