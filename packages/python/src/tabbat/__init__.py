"""Client of Tabbat, the self-hosted gateway for Nigerian identity checks (NIN, BVN)."""

from . import webhooks
from .api import Batch, BatchResult, BatchRow, BvnPerson, InternetBundle, NewBatch, NinPerson, SmeBundle, TvAddOn
from .async_client import AsyncTabbat
from .client import Tabbat
from .error import TabbatError
from .results import Match, MatchLevel, NotVerified, Pending, VerificationResult, Verified
from .webhooks import WebhookEvent

__version__ = "0.3.0"

__all__ = [
    "AsyncTabbat",
    "Batch",
    "BatchResult",
    "BatchRow",
    "BvnPerson",
    "InternetBundle",
    "Match",
    "MatchLevel",
    "NewBatch",
    "NinPerson",
    "NotVerified",
    "Pending",
    "SmeBundle",
    "Tabbat",
    "TabbatError",
    "TvAddOn",
    "VerificationResult",
    "Verified",
    "WebhookEvent",
    "webhooks",
]
