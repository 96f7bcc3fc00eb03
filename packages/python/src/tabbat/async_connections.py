"""HTTP/1.1 over the streams of asyncio. A call that is cancelled, or whose time is over, closes its connection at once."""

import asyncio
import io
import re
import ssl
from http.client import HTTPException, parse_headers
from typing import AsyncIterator, Dict, List, Optional, Tuple, Union

from .error import TabbatError, timeout_error, unexpected_response
from .sending import Body, Call, Response, Settings
from .sync_connections import MAX_IDLE, PIECE_BYTES, has_input, to_error

Loop = asyncio.AbstractEventLoop
FAILURES = (OSError, EOFError, HTTPException, ValueError, asyncio.LimitOverrunError)


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.loop = asyncio.get_running_loop()

    def is_usable(self) -> bool:
        is_open = not self.reader.at_eof() and not self.writer.is_closing()
        return self.loop is asyncio.get_running_loop() and is_open and not self._has_unread()

    def _has_unread(self) -> bool:
        """Bytes that nobody asked for would be taken for the next response. The reader has no public name for its buffer."""
        return bool(getattr(self.reader, "_buffer", True)) or has_input(self.writer.get_extra_info("socket"))

    def abort(self) -> None:
        if not self.loop.is_closed():
            self.writer.transport.abort()


class AsyncConnections:
    def __init__(self, settings: Settings, context: Optional[ssl.SSLContext]) -> None:
        self._settings = settings
        self._context = (context or ssl.create_default_context()) if settings.is_tls else None
        self._idle: List[Connection] = []

    async def exchange(self, call: Call, timeout_s: float) -> Union[Response, TabbatError]:
        try:
            return await asyncio.wait_for(self._exchange(call), timeout_s)
        except asyncio.TimeoutError:
            return timeout_error()
        except TabbatError as error:
            return error
        except FAILURES as error:
            return to_error(error)

    async def _exchange(self, call: Call) -> Response:
        connection = self._take() or await self._connect()
        try:
            connection.writer.write(self._to_head(call) + (call.body or b""))
            await connection.writer.drain()
            status, headers, is_http_1_1 = await read_head(connection.reader)
            body = AsyncBody(self, connection, status, headers, is_http_1_1)
            if call.is_stream and 200 <= status < 300:
                return Response(status, headers, body)
            return Response(status, headers, await body.read_all(call.max_response_bytes()))
        except BaseException:
            connection.abort()
            raise

    async def _connect(self) -> Connection:
        settings = self._settings
        host, port = settings.host, settings.port
        return Connection(*await asyncio.open_connection(host, port, ssl=self._context, limit=PIECE_BYTES))

    def _to_head(self, call: Call) -> bytes:
        settings = self._settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        port = "" if settings.port == (443 if settings.is_tls else 80) else f":{settings.port}"
        headers = {
            "host": host + port,
            "accept": "application/json",
            "accept-encoding": "identity",
            **call.headers,
            "authorization": f"Bearer {settings.key}",
        }
        if call.body is not None:
            headers["content-length"] = str(len(call.body))
        lines = [f"{call.method} {settings.base_path}{call.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def _take(self) -> Optional[Connection]:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    def put_back(self, connection: Connection) -> None:
        if len(self._idle) < MAX_IDLE and connection.is_usable():
            self._idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()


class AsyncBody(Body):
    def __init__(
        self, owner: AsyncConnections, connection: Connection, status: int, headers: Dict[str, str], is_http_1_1: bool
    ) -> None:
        self._owner, self._connection, self._status = owner, connection, status
        self._pieces = read_body(connection.reader, status, headers)
        has_end = status in (204, 304) or "content-length" in headers or "transfer-encoding" in headers
        words = re.split(r"[\s,]+", headers.get("connection", "").lower())
        self._can_stay = is_http_1_1 and has_end and "close" not in words
        self._is_read = False

    async def read(self, timeout_s: float) -> Union[bytes, TabbatError]:
        """For a stream: nothing at the end."""
        try:
            return await asyncio.wait_for(self._read_piece(), timeout_s)
        except asyncio.TimeoutError:
            return timeout_error()
        except FAILURES as error:
            return to_error(error)

    async def read_all(self, max_bytes: int) -> bytes:
        pieces: List[bytes] = []
        size = 0
        while True:
            piece = await self._read_piece()
            if piece == b"":
                self.close()
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise unexpected_response(self._status)

    async def _read_piece(self) -> bytes:
        try:
            return await self._pieces.__anext__()
        except StopAsyncIteration:
            self._is_read = True
            return b""

    def close(self) -> None:
        if self._is_read and self._can_stay:
            self._owner.put_back(self._connection)
        else:
            self._connection.abort()


async def read_head(reader: asyncio.StreamReader) -> "Tuple[int, Dict[str, str], bool]":
    """The status and the headers, with names in lower case. Responses such as 103 come before the one that counts."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        found = re.match(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: |$)", line)
        if not found or found[2] == b"101":
            raise HTTPException("This is not HTTP/1.1.")
        if not found[2].startswith(b"1"):
            headers = {name.lower(): value for name, value in parse_headers(io.BytesIO(rest)).items()}
            return int(found[2]), headers, found[1] == b"1"


async def read_body(reader: asyncio.StreamReader, status: int, headers: Dict[str, str]) -> AsyncIterator[bytes]:
    """The pieces of a body as they arrive. One that ends too early raises an error."""
    encoding = headers.get("transfer-encoding")
    if status in (204, 304):
        return
    if encoding is not None:
        if encoding.strip().lower() != "chunked":
            raise HTTPException("The transfer encoding is unknown.")
        while True:
            size = to_size(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n", await reader.readuntil(b"\r\n"), 16)
            async for piece in read_exactly(reader, size):
                yield piece
            if size == 0:
                break
            if await reader.readexactly(2) != b"\r\n":
                raise HTTPException("A chunk has no end.")
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return
    length = headers.get("content-length")
    if length is not None:
        async for piece in read_exactly(reader, to_size(rb"([0-9]{1,15})", length.strip().encode(), 10)):
            yield piece
        return
    while True:
        piece = await reader.read(PIECE_BYTES)
        if piece == b"":
            return
        yield piece


def to_size(pattern: bytes, text: bytes, base: int) -> int:
    found = re.fullmatch(pattern, text)
    if not found:
        raise HTTPException("A length is wrong.")
    return int(found[1], base)


async def read_exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    left = size
    while left > 0:
        piece = await reader.read(min(left, PIECE_BYTES))
        if piece == b"":
            raise EOFError
        left -= len(piece)
        yield piece
