from typing import Any, Mapping, Optional, Sequence

Fields = Mapping[str, Sequence[str]]


class TabbatError(Exception):
    """The only error that the client raises. It has no cause: that could quote a header or an address.

    Its code is one of the API, or one of the client itself:

    - ``invalid_argument``: an argument that cannot be sent.
    - ``network_error``: no complete response.
    - ``timeout``: no complete response within the time of the call.
    - ``unexpected_response``: not a response of Tabbat, but of a proxy, for example.
    - ``invalid_signature``: a webhook that must not be trusted.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        request_id: Optional[str] = None,
        reference: Optional[str] = None,
        fields: Optional[Fields] = None,
        retry_after_s: Optional[float] = None,
    ) -> None:
        # Both, so that the error can be pickled.
        super().__init__(code, message)
        self.code = code
        self.message = message
        #: Of the response; 0 if there was none.
        self.status = status
        #: Whether the same call may succeed later.
        self.retryable = retryable
        #: Finds the request in the log of the server.
        self.request_id = request_id
        #: The request_reference of the verification, if it got so far. On 409, of the one in progress.
        self.reference = reference
        #: What is wrong with which field.
        self.fields = fields
        #: How long the server asks to wait, in seconds.
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items() if value is not None)
        return f"TabbatError({shown})"

    def to_dict(self) -> "dict[str, Any]":
        """For a log in JSON."""
        names = "code", "message", "status", "retryable", "request_id", "reference", "fields", "retry_after_s"
        return {name: getattr(self, name) for name in names}


def without_frames(error: BaseException, outer: Optional[BaseException]) -> BaseException:
    """Leaves out the functions below, whose variables have the key and the request. A signal may raise any exception there.

    :param outer: What the caller was handling: its frames are those of the caller.
    """
    each: Optional[BaseException] = error
    while each is not None and each is not outer:
        each.__traceback__ = None
        each = each.__context__
    return error


def invalid_argument(message: str) -> TabbatError:
    return TabbatError("invalid_argument", message)


def unexpected_response(status: int, **options: Any) -> TabbatError:
    message = f"HTTP {status} is not a response of Tabbat. Check base_url and what is in front of the server."
    return TabbatError("unexpected_response", message, status=status, **options)


def timeout_error() -> TabbatError:
    return TabbatError("timeout", "The server did not answer in time.", retryable=True)


def network_error(reason: Optional[str]) -> TabbatError:
    shown = f" ({reason})" if reason else ""
    message = f"The server could not be reached, or the connection broke{shown}."
    return TabbatError("network_error", message, retryable=True)
