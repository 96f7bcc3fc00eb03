"""What both clients for Python do with a server that sends more than one response to a request."""

import asyncio
import json
import re
import socket
import threading
import time

from tabbat import AsyncTabbat, Tabbat

KEY = "tbt_live_canary"


def to_response(reference):
    data = {"request_reference": reference, "verification_status": "VERIFIED", "personal_info": {}}
    body = json.dumps({"success": True, "data": data}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def is_complete(request):
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: ([0-9]+)", head, re.IGNORECASE)
    return end != b"" and len(body) >= int(length[1] if length else 0)


class Server:
    """Answers each request with its number. `stray` is sent after the first response: in the same packet, or later."""

    def __init__(self, stray, delay_s=0.0):
        self._stray, self._delay_s = stray, delay_s
        self.requests, self.connections = [], 0
        self.has_sent_all = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self._listener.accept()
            self.connections += 1
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while True:
                request = b""
                while not is_complete(request):
                    piece = connection.recv(65_536)
                    if not piece:
                        return
                    request += piece
                self.requests.append(request)
                is_first = len(self.requests) == 1
                response = to_response(f"ver_{len(self.requests)}")
                is_together = is_first and self._delay_s == 0
                connection.sendall(response + self._stray if is_together else response)
                if is_first and self._delay_s > 0:
                    time.sleep(self._delay_s)
                    connection.sendall(self._stray)
                self.has_sent_all.set()
        except OSError:
            pass


def ask(nin="12345678901"):
    return {"nin": nin, "phone": "08031234567"}


def call_twice(server, wait_s):
    with Tabbat(key=KEY, base_url=server.url) as tabbat:
        first = tabbat.verify_nin(**ask()).reference
        server.has_sent_all.wait()
        time.sleep(wait_s)
        return [first, tabbat.verify_nin(**ask()).reference]


async def call_twice_async(server, wait_s, is_loop_blocked):
    async with AsyncTabbat(key=KEY, base_url=server.url) as tabbat:
        first = (await tabbat.verify_nin(**ask())).reference
        if is_loop_blocked:
            server.has_sent_all.wait()
            time.sleep(wait_s)
        else:
            await asyncio.sleep(wait_s)
        return [first, (await tabbat.verify_nin(**ask())).reference]


def show(name, server, references):
    print(name, references, server.connections)


STRAY = to_response("ver_stray")
server = Server(b"")
show("sync, nothing unread:", server, call_twice(server, 0))
server = Server(STRAY, 0.1)
show("sync, unread later:", server, call_twice(server, 0.1))
server = Server(b"")
show("async, nothing unread:", server, asyncio.run(call_twice_async(server, 0.1, False)))
server = Server(STRAY)
show("async, unread at once:", server, asyncio.run(call_twice_async(server, 0.1, False)))
server = Server(STRAY, 0.1)
show("async, unread later:", server, asyncio.run(call_twice_async(server, 0.3, False)))
server = Server(STRAY, 0.1)
show("async, unread while the loop does not run:", server, asyncio.run(call_twice_async(server, 0.1, True)))
