"""Makes the calls of scenarios.test.ts with the client for Python: a JSON line in, a JSON line out. With `async`, by AsyncTabbat."""

import asyncio
import copy
import inspect
import json
import os
import pickle
import pprint
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../packages/python/src"))

from tabbat import AsyncTabbat, Tabbat, TabbatError, webhooks  # noqa: E402
from tabbat.retry import read_retry_after, to_delay_s  # noqa: E402

IS_ASYNC = sys.argv[1:] == ["async"]
# The folder of the checkout may be called tabbat, too.
PACKAGE = os.path.join(os.path.realpath(os.path.dirname(inspect.getfile(Tabbat))), "")


def to_options(client):
    return {name: value for name, value in client.items() if value is not None}


def find(tabbat, call):
    """verify_nin is a method of the client, batches_get one of its batches."""
    for part in ("pending", "batches"):
        if call.startswith(f"{part}_"):
            return getattr(getattr(tabbat, part), call[len(part) + 1 :])
    return getattr(tabbat, call)


async def make(tabbat, call, args):
    if call == "webhook":
        return webhooks.verify(args["headers"], args["body"].encode(), args["secret"], tolerance_s=args["tolerance_s"])
    if call == "retry_after":
        return read_retry_after(args["headers"]) or 0
    if call == "delays":
        return [to_delay_s(args["retries"], args.get("retry_after_s")) for _ in range(200)]
    result = find(tabbat, call)(**args)
    if inspect.isawaitable(result):
        return await result
    if inspect.isasyncgen(result):
        return [row async for row in result]
    return list(result) if inspect.isgenerator(result) else result


def describe_result(call, result):
    if call in ("retry_after", "delays"):
        return {"kind": "value", "value": result}
    texts = [repr(result), str(result), f"{result}", pprint.pformat(result)]
    if call == "webhook":
        return {"kind": "event", "id": result.id, "type": result.type, "data": result.data}
    if call == "batches_results":
        return {"kind": "rows", "references": [row["reference"] for row in result], "texts": texts}
    if isinstance(result, list):
        return {"kind": "list", "count": len(result), "first": result[0] if result else None}
    if result is None:
        return {"kind": "done"}
    if call.startswith("batches"):
        return {"kind": "batch", **result, "texts": texts}
    if result.pending:
        return {"kind": "pending", "reference": result.reference, "texts": texts}
    if not result.verified:
        return {"kind": "not_verified", "reference": result.reference, "texts": texts}
    texts += [repr(result.person), f"{result.person['personal_info']}", show_pickled(result), repr(copy.deepcopy(result.person))]
    return {
        "kind": "verified",
        "reference": result.reference,
        "person": result.person,
        "match": result.match,
        "texts": texts,
    }


def show_locals(error):
    """What tools such as Sentry record: the variables of the functions of the client. Those of this program are its own."""
    stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    return repr([(frame.name, frame.locals) for frame in stack if os.path.realpath(frame.filename).startswith(PACKAGE)])


def show_pickled(value):
    try:
        return repr(pickle.dumps(value))
    except TypeError as error:
        return str(error)


def describe_error(error):
    described = {
        "kind": "error",
        "code": error.code,
        "status": error.status,
        "retryable": error.retryable,
        "message": error.message,
        "fields": list(error.fields or {}),
        "has_request_id": error.request_id is not None,
        "has_reference": error.reference is not None,
        "texts": [
            str(error),
            repr(error),
            repr(error.args),
            repr(vars(error)),
            json.dumps(error.to_dict()),
            # The lines of the source that it quotes are those of the client.
            "".join(traceback.format_exception(type(error), error, error.__traceback__)),
            repr(error.__context__) + repr(error.__cause__),
            repr(pickle.loads(pickle.dumps(error))),
            show_locals(error),
        ],
    }
    if error.retry_after_s is not None:
        described["retry_after_s"] = error.retry_after_s
    return described


async def main():
    current, tabbat = None, None
    while True:
        line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        if not line:
            return
        task = json.loads(line)
        try:
            if current != task["scenario"] or tabbat is None:
                tabbat = (AsyncTabbat if IS_ASYNC else Tabbat)(**to_options(task["client"]))
                current = task["scenario"]
            described = describe_result(task["call"], await make(tabbat, task["call"], task["args"]))
            described["texts"] = [*described.get("texts", []), repr(tabbat), repr(tabbat._settings), show_pickled(tabbat)]
        except TabbatError as error:
            described = describe_error(error)
        print(json.dumps(described), flush=True)


asyncio.run(main())
