"""Prints which functions of the clients are in the traceback of a call that a signal or a cancellation interrupts."""

import asyncio
import os
import signal
import socket
import traceback

from tabbat import AsyncTabbat, Tabbat

CANARIES = ("tbt_live_canary", "70911111111", "08092222222")
# It accepts connections and never answers.
LISTENER = socket.create_server(("127.0.0.1", 0))
SETTINGS = {"key": CANARIES[0], "base_url": f"http://127.0.0.1:{LISTENER.getsockname()[1]}"}
REQUEST = {"nin": CANARIES[1], "phone": CANARIES[2]}


class SoftTimeLimit(Exception):
    """As Celery raises it."""


def interrupt(_number, _frame):
    raise SoftTimeLimit


def list_frames(error):
    """Those of the client and of the standard library, also of exceptions before this one."""
    while error is not None:
        stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
        yield from (frame for frame in stack if frame.filename != __file__)
        error = error.__context__


def show(name, error):
    frames = list(list_frames(error))
    leaked = [frame.name for frame in frames if any(canary in repr(frame.locals) for canary in CANARIES)]
    functions = [frame.name for frame in frames if f"tabbat{os.sep}" in frame.filename]
    print(name, type(error).__name__, functions, leaked)


def call(name, function):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        function()
    except SoftTimeLimit as error:
        show(name, error)


async def cancel():
    async with AsyncTabbat(**SETTINGS) as tabbat:
        task = asyncio.ensure_future(tabbat.verify_nin(**REQUEST))
        await asyncio.sleep(0.3)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            show("async:", error)


signal.signal(signal.SIGALRM, interrupt)
tabbat = Tabbat(**SETTINGS)
call("sync:", lambda: tabbat.verify_nin(**REQUEST))
call("stream:", lambda: list(tabbat.batches.results("bat_1")))
asyncio.run(cancel())
try:
    raise ValueError("of the caller")
except ValueError as outer:
    try:
        tabbat.batches.get("no id")
    except Exception as error:
        print("context:", error.__context__ is outer, outer.__traceback__ is not None)
