"""As verify.py, with asyncio: for FastAPI, aiohttp and other programs with an event loop."""

import asyncio
import os
import sys

from tabbat import AsyncTabbat, TabbatError


async def verify(tabbat, nin, phone):
    try:
        result = await tabbat.verify_nin(nin=nin, phone=phone)
    except TabbatError as error:
        if error.code != "validation_failed":
            raise
        return "invalid: " + "; ".join(text for texts in error.fields.values() for text in texts)
    if result.verified:
        return f"verified: {result.reference}"
    return f"{'pending' if result.pending else 'not verified'}: {result.reference}"


# People of the sandbox. Not in the calls below, because a traceback quotes lines.
INPUTS = [("12345678901", "08031234567"), ("00000000422", "08031234567"), ("12345678901", "123")]


async def main():
    url = os.environ.get("TABBAT_URL", "http://127.0.0.1:8080")
    async with AsyncTabbat(key=os.environ["TABBAT_KEY"], base_url=url) as tabbat:
        for nin, phone in INPUTS:
            print(await verify(tabbat, nin, phone))
        bundles = await tabbat.list_internet_bundles("smile")
        if bundles:
            print(f"bundles: {len(bundles)}, the first is {bundles[0]['code']} for {bundles[0]['price']} naira")
        else:
            print("bundles: none")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except TabbatError as error:
        # No text of it contains what was sent.
        sys.exit(f"status {error.status}, code {error.code}, request {error.request_id}")
