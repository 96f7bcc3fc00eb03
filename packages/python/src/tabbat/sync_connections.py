import errno
import functools
import io
import select
import socket
import ssl
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse
from os import getpid
from typing import Any, Iterator, List, Optional, Union

from .error import TabbatError, network_error, timeout_error, unexpected_response
from .sending import Body, Call, Response, Settings

PIECE_BYTES = 65_536
MAX_IDLE = 32


class Deadline:
    def __init__(self, seconds: float) -> None:
        self.restart(seconds)

    def restart(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def left_s(self) -> float:
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise socket.timeout
        return left_s


class _TimedReader(io.RawIOBase):
    """The timeout of a socket is for one read of it. With this, it is what is left of the whole time."""

    def __init__(self, sock: socket.socket, raw: Any, deadline: Deadline) -> None:
        self._sock, self._raw, self._deadline = sock, raw, deadline
        self.has_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._sock.settimeout(self._deadline.left_s())
        size: Optional[int] = self._raw.readinto(buffer)
        self.has_ended = size == 0
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, deadline: Deadline, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._reader = _TimedReader(sock, self.fp.detach(), deadline)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        """Reads the head. http.client takes the end of the connection for the end of the head."""
        super().begin()
        if self._reader.has_ended:
            raise HTTPException("The head is cut off.")


class Connections:
    """Sends requests over connections that are kept. Threads may share it: a connection serves one request at a time."""

    def __init__(self, settings: Settings, context: Optional[ssl.SSLContext]) -> None:
        self._settings = settings
        self._context = (context or ssl.create_default_context()) if settings.is_tls else None
        self._lock = threading.Lock()
        self._idle: List[HTTPConnection] = []
        self._pid = getpid()

    def exchange(self, call: Call, timeout_s: float) -> Union[Response, TabbatError]:
        deadline = Deadline(timeout_s)
        connection = self._take()
        try:
            response = self._request(connection, call, deadline)
            is_streamed = call.is_stream and 200 <= response.status < 300
            body = SyncBody(self, connection, response, deadline)
            headers = {name.lower(): value for name, value in response.getheaders()}
            if is_streamed:
                return Response(response.status, headers, body)
            return Response(response.status, headers, body.read_all(call.max_response_bytes()))
        except TabbatError as error:
            connection.close()
            return error
        except (OSError, HTTPException, ValueError) as error:
            connection.close()
            return to_error(error)
        except BaseException:
            connection.close()
            raise

    def _request(self, connection: HTTPConnection, call: Call, deadline: Deadline) -> HTTPResponse:
        if connection.sock is None:
            connection.sock = self._connect(deadline)
        headers = {"accept": "application/json", **call.headers, "authorization": f"Bearer {self._settings.key}"}
        if call.body is not None:
            headers["content-length"] = str(len(call.body))
        connection.response_class = functools.partial(_TimedResponse, deadline=deadline)  # type: ignore[assignment]
        connection.sock.settimeout(deadline.left_s())
        path = self._settings.base_path + call.path
        body = None if call.body is None else self._pieces(call.body, connection, deadline)
        connection.request(call.method, path, body, headers)
        # Tools that record the variables of a traceback do not find the key here during the wait.
        del headers, body
        return connection.getresponse()

    def _pieces(self, body: bytes, connection: HTTPConnection, deadline: Deadline) -> Iterator[bytes]:
        for start in range(0, len(body), PIECE_BYTES):
            connection.sock.settimeout(deadline.left_s())
            yield body[start : start + PIECE_BYTES]

    def _connect(self, deadline: Deadline) -> socket.socket:
        """All addresses of the host share the time, unlike in socket.create_connection. The name is resolved without a limit."""
        failure: OSError = OSError(errno.EHOSTUNREACH, "no address")
        settings = self._settings
        for family, kind, protocol, _name, address in socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(deadline.left_s())
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._context is None:
                    return sock
                sock.settimeout(deadline.left_s())
                return self._context.wrap_socket(sock, server_hostname=settings.host)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
        raise failure

    def _take(self) -> HTTPConnection:
        with self._lock:
            if self._pid != getpid():
                # After a fork, the connections belong to the parent.
                self._idle, self._pid = [], getpid()
            while self._idle:
                connection = self._idle.pop()
                if not has_ended(connection):
                    return connection
                connection.close()
        connection = HTTPConnection(self._settings.host, self._settings.port)
        # Host has no port if it is the default one. TLS is made in _connect.
        connection.default_port = 443 if self._settings.is_tls else 80
        return connection

    def put_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            if self._pid == getpid() and len(self._idle) < MAX_IDLE:
                return self._idle.append(connection)
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class SyncBody(Body):
    def __init__(
        self, owner: Connections, connection: HTTPConnection, response: HTTPResponse, deadline: Deadline
    ) -> None:
        self._owner, self._connection, self._response, self._deadline = owner, connection, response, deadline
        self._is_read = False

    def read(self, timeout_s: float) -> Union[bytes, TabbatError]:
        """For a stream: nothing at the end."""
        self._deadline.restart(timeout_s)
        try:
            return self._read_piece()
        except (OSError, HTTPException, ValueError) as error:
            return to_error(error)

    def read_all(self, max_bytes: int) -> bytes:
        pieces: List[bytes] = []
        size = 0
        for piece in iter(self._read_piece, b""):
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise unexpected_response(self._response.status)
        self.close()
        return b"".join(pieces)

    def _read_piece(self) -> bytes:
        response = self._response
        # read1 returns what has arrived, but in older versions of Python it does not see the end of a body with a length.
        piece = response.read1(PIECE_BYTES) if response.chunked else response.read(PIECE_BYTES)
        if piece == b"":
            if response.length:
                raise HTTPException("The body is cut off.")
            self._is_read = True
        return piece

    def close(self) -> None:
        if self._is_read and not self._response.will_close:
            self._owner.put_back(self._connection)
        else:
            self._response.close()
            self._connection.close()


def has_ended(connection: HTTPConnection) -> bool:
    """Whether the server has closed a connection that waits, or sent what nobody asked for."""
    return connection.sock is None or has_input(connection.sock)


def has_input(sock: Any) -> bool:
    """Whether a read of the socket would return at once: bytes, or the end. select refuses the sockets above the 1024th."""
    try:
        if not hasattr(select, "poll"):
            return bool(select.select([sock], [], [], 0)[0])
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, ValueError, TypeError):
        return True


def to_error(error: BaseException) -> TabbatError:
    """Only a name such as ECONNREFUSED is taken over: other texts may quote headers or an address."""
    if isinstance(error, (socket.timeout, TimeoutError)) and getattr(error, "errno", None) is None:
        return timeout_error()
    if isinstance(error, socket.gaierror):
        return network_error("ENOTFOUND")
    if isinstance(error, ssl.SSLError):
        return network_error(error.reason)
    number = error.errno if isinstance(error, OSError) else None
    return network_error(errno.errorcode.get(number) if number is not None else None)
