"""Prints the header Host that both clients for Python send to an address."""

import asyncio
import ssl

from tabbat.async_connections import AsyncConnections
from tabbat.sending import Call, Settings
from tabbat.sync_connections import Connections


class Socket:
    """Keeps what is sent."""

    sent = b""

    def sendall(self, data):
        self.sent += data


def read_host(head):
    return [line for line in head.decode().split("\r\n") if line.lower().startswith("host:")][0].split(" ")[1]


async def show(base_url):
    settings, context = Settings("tbt_test_x", base_url, 60.0, 20.0, 4), ssl.create_default_context()
    connection = Connections(settings, context)._take()
    connection.sock = Socket()
    connection.request("GET", "/")
    head = AsyncConnections(settings, context)._to_head(Call("GET", "/"))
    print(base_url, read_host(connection.sock.sent), read_host(head))


for base_url in (
    "https://tabbat.example.com",
    "https://tabbat.example.com:8443",
    "https://tabbat.example.com:80",
    "http://tabbat.example.com",
    "http://tabbat.example.com:443",
    "https://[2001:db8::1]",
):
    asyncio.run(show(base_url))
