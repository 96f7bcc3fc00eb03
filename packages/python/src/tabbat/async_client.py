import asyncio
import ssl
import sys
from typing import Any, AsyncIterator, List, Mapping, Optional, Sequence, TypeVar, Union, cast

from . import operations
from .api import Batch, BatchResult, BatchRow, BvnPerson, InternetBundle, NewBatch, NinPerson, SmeBundle, TvAddOn
from .async_connections import AsyncBody, AsyncConnections
from .error import TabbatError, without_frames
from .results import VerificationResult
from .sending import Attempt, Emit, Plan, Read, Settings, Wait

T = TypeVar("T")


class AsyncTabbat:
    """The client for asyncio. Tasks of one event loop may share it. Cancelling a task ends its call, its waits and its retries."""

    def __init__(
        self,
        *,
        key: str,
        base_url: str,
        timeout_s: float = 60.0,
        attempt_timeout_s: float = 20.0,
        max_retries: int = 4,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """
        :param key: An API key: ``tbt_test_…`` or ``tbt_live_…``.
        :param base_url: Address of the server without ``/api/v2``, for example ``https://tabbat.example.com``.
        :param timeout_s: For a whole call with its retries.
        :param attempt_timeout_s: For one request; longer than a server asks its sources.
        :param max_retries: Retries of one call.
        :param ssl_context: For a certificate authority of your own, or a client certificate.
        """
        try:
            self._settings = Settings(key, base_url, timeout_s, attempt_timeout_s, max_retries)
        except TabbatError as error:
            del self, key, base_url
            raise error.with_traceback(None)
        self._connections = AsyncConnections(self._settings, ssl_context)
        self.pending = AsyncPendingVerifications(self)
        self.batches = AsyncBatches(self)

    def __repr__(self) -> str:
        return f"AsyncTabbat(base_url={self._settings.base_url!r})"

    async def __aenter__(self) -> "AsyncTabbat":
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections that are kept."""
        self._connections.close()

    async def verify_nin(
        self,
        *,
        nin: str,
        phone: str,
        first_name: Optional[str] = None,
        last_name: Optional[str] = None,
        date_of_birth: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        consent_reference: Optional[str] = None,
        purpose: Optional[str] = None,
        respond_async: Union[bool, int] = False,
        timeout_s: Optional[float] = None,
    ) -> "VerificationResult[NinPerson]":
        """Verifies a NIN against a phone number.

        :param idempotency_key: 1 to 255 visible characters; without it, each call makes its own. The same key causes at
            most two paid calls in 24 hours (TABBAT_PAID_CALLS of the server), and an answer is not paid for again.
        :param consent_reference: Your reference of the customer's consent, without personal data.
        :param purpose: What the verification is for, in one word. The operator may allow certain words only.
        :param respond_async: Answer later: ``True`` at once, a number after so many seconds at most.
        :param timeout_s: For the whole call with its retries.
        """
        details = {"first_name": first_name, "last_name": last_name, "date_of_birth": date_of_birth}
        plan = operations.verify(
            self._settings,
            "/api/v2/kyc/verify-nin",
            {"nin": nin, "phone": phone, **details},
            idempotency_key=idempotency_key,
            consent_reference=consent_reference,
            purpose=purpose,
            respond_async=respond_async,
            timeout_s=timeout_s,
        )
        # Tools that record the variables of a traceback find none of the person here.
        del nin, phone, first_name, last_name, date_of_birth, details, idempotency_key, consent_reference
        return await self._run(plan)

    async def verify_bvn(
        self,
        *,
        bvn: str,
        phone: str,
        amount: str,
        first_name: Optional[str] = None,
        last_name: Optional[str] = None,
        date_of_birth: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        consent_reference: Optional[str] = None,
        purpose: Optional[str] = None,
        respond_async: Union[bool, int] = False,
        timeout_s: Optional[float] = None,
    ) -> "VerificationResult[BvnPerson]":
        """Verifies a BVN against a phone number. The options are those of `verify_nin`."""
        details = {"first_name": first_name, "last_name": last_name, "date_of_birth": date_of_birth}
        plan = operations.verify(
            self._settings,
            "/api/v2/kyc/verify-bvn",
            {"bvn": bvn, "phone": phone, "amount": amount, **details},
            idempotency_key=idempotency_key,
            consent_reference=consent_reference,
            purpose=purpose,
            respond_async=respond_async,
            timeout_s=timeout_s,
        )
        # Tools that record the variables of a traceback find none of the person here.
        del bvn, phone, first_name, last_name, date_of_birth, details, idempotency_key, consent_reference
        return await self._run(plan)

    async def list_internet_bundles(self, provider: str, *, timeout_s: Optional[float] = None) -> List[InternetBundle]:
        """The data bundles of an internet provider: ``smile``, ``spectranet``."""
        return await self._run(operations.list_internet_bundles(self._settings, provider, timeout_s))

    async def list_sme_bundles(self, *, timeout_s: Optional[float] = None) -> List[SmeBundle]:
        return await self._run(operations.list_sme_bundles(self._settings, timeout_s))

    async def list_tv_add_ons(
        self, *, type: str, product_code: str, timeout_s: Optional[float] = None
    ) -> List[TvAddOn]:
        """The add-ons of a product of cable TV."""
        return await self._run(operations.list_tv_add_ons(self._settings, type, product_code, timeout_s))

    async def _run(self, plan: Plan[T]) -> T:
        outer = sys.exc_info()[1]
        try:
            step = next(plan)
            while True:
                step = plan.send(await self._do(step))
        except StopIteration as end:
            return cast(T, end.value)
        except BaseException as error:
            raise without_frames(error, outer)

    async def _stream(self, plan: Plan[None]) -> AsyncIterator[Any]:
        outer = sys.exc_info()[1]
        try:
            step = next(plan)
            while True:
                if isinstance(step, Emit):
                    yield step.value
                    step = plan.send(None)
                else:
                    step = plan.send(await self._do(step))
        except StopIteration:
            return
        except BaseException as error:
            raise without_frames(error, outer)
        finally:
            plan.close()

    async def _do(self, step: Any) -> Any:
        if isinstance(step, Attempt):
            return await self._connections.exchange(step.call, step.timeout_s)
        if isinstance(step, Read):
            return await cast(AsyncBody, step.body).read(step.timeout_s)
        return await asyncio.sleep(cast(Wait, step).seconds)


class AsyncPendingVerifications:
    def __init__(self, client: AsyncTabbat) -> None:
        self._client = client

    async def get(
        self, reference: str, *, timeout_s: Optional[float] = None
    ) -> "VerificationResult[Union[NinPerson, BvnPerson]]":
        """The answer of a pending verification, or that it is still pending. ``person["service_type"]`` is NIN or BVN."""
        return await self._client._run(operations.get_pending(self._client._settings, reference, timeout_s))

    async def cancel(self, reference: str, *, timeout_s: Optional[float] = None) -> None:
        """Cancels it. While a source is being asked, and after the end, this is an error: ``already_begun``."""
        await self._client._run(operations.cancel_pending(self._client._settings, reference, timeout_s))


class AsyncBatches:
    def __init__(self, client: AsyncTabbat) -> None:
        self._client = client

    async def create(
        self,
        rows: "Sequence[Union[BatchRow, Mapping[str, Any]]]",
        *,
        idempotency_key: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> NewBatch:
        """Sends up to 50 000 rows. Refused rows are in ``refusals`` and do not stop the others.

        The same ``idempotency_key`` and rows get the same batch; without it, each call makes its own.
        """
        plan = operations.create_batch(self._client._settings, rows, idempotency_key, timeout_s)
        del rows
        return cast(NewBatch, await self._client._run(plan))

    async def get(self, batch_id: str, *, timeout_s: Optional[float] = None) -> Batch:
        """How far it is."""
        return cast(Batch, await self._client._run(operations.get_batch(self._client._settings, batch_id, timeout_s)))

    def results(self, batch_id: str, *, timeout_s: Optional[float] = None) -> AsyncIterator[BatchResult]:
        """All rows in the order in which they were sent, as they arrive, also those that have not ended.

        ``timeout_s`` is for each wait for further rows.
        """
        return self._client._stream(operations.get_batch_results(self._client._settings, batch_id, timeout_s))

    async def cancel(self, batch_id: str, *, timeout_s: Optional[float] = None) -> Batch:
        """Cancels the rows that have not begun."""
        return cast(Batch, await self._client._run(operations.cancel_batch(self._client._settings, batch_id, timeout_s)))
