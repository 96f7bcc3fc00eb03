"""Prints how the check of a webhook fails for headers and bodies that are no text, and whether the traceback has the secret."""

import time
import traceback

from tabbat import webhooks

SECRET = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnk="
CANARIES = (SECRET[6:-1], "canary-canary")


def show(name, *, event_id="evt_1", body="{}", headers=None):
    signed = {"webhook-id": event_id, "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    try:
        webhooks.verify(signed if headers is None else headers, body, SECRET)
    except Exception as error:
        stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
        frames = [frame for frame in stack if frame.filename != __file__]
        leaked = [frame.name for frame in frames if any(canary in repr(frame.locals) for canary in CANARIES)]
        print(name, getattr(error, "code", type(error).__name__), leaked)


show("a surrogate in the id:", event_id="evt_\udcff")
show("a letter that is not ASCII in the id:", event_id="ẹvt_1")
show("a line end in the id:", event_id="evt_1\n")
show("an id that is too long:", event_id="e" * 256)
show("an id in bytes:", event_id=b"evt_1")
show("a surrogate in the body:", body="\udcff")
show("no body:", body=None)
show("no headers:", headers=[])
