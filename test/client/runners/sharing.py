"""What the client for Python promises to those who share it: threads, a forked process, and tasks that are cancelled."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from tabbat import AsyncTabbat, Tabbat

SETTINGS = {"key": os.environ["TABBAT_KEY"], "base_url": os.environ["TABBAT_URL"]}


def is_right(tabbat, number):
    """Whether the response is that of this request."""
    nin = str(12345670000 + number)
    result = tabbat.verify_nin(nin=nin, phone="08031234567")
    return result.verified and result.person["nin_number"] == nin


def share_among_threads(tabbat):
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: is_right(tabbat, number), range(64)))
    print("threads", all(answers), len(tabbat._connections._idle) <= 8)


def share_with_a_child(tabbat):
    """The connections that wait belong to the parent."""
    child = os.fork()
    if child == 0:
        os._exit(0 if all(is_right(tabbat, number) for number in range(8)) else 1)
    answers = [is_right(tabbat, number) for number in range(8)]
    print("fork", all(answers), os.waitpid(child, 0)[1] == 0)


async def cancel_a_task():
    """A server that never answers sees the end of the connection."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        while await reader.read(65_536):
            pass
        ended.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with AsyncTabbat(key="tbt_test_x", base_url=f"http://127.0.0.1:{port}") as tabbat:
        call = asyncio.ensure_future(tabbat.list_sme_bundles())
        await begun.wait()
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            await ended.wait()
            print("cancelled", tabbat._connections._idle)
    server.close()


with Tabbat(**SETTINGS) as client:
    share_among_threads(client)
    share_with_a_child(client)
asyncio.run(cancel_a_task())
