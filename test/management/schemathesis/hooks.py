"""What no schema can say: a cursor is taken from a link, and a key is for one request."""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, **kwargs):
    query = case.query or {}
    for name in ("page[after]", "page[before]"):
        if 0 < len(str(query.get(name, ""))) <= 2048:
            query.pop(name)
    headers = case.headers if case.headers is not None else {}
    key = headers.get("Idempotency-Key")
    if key is not None and 0 < len(key) <= 255 and key.strip() and all(" " <= letter <= "~" for letter in key):
        headers["Idempotency-Key"] = str(uuid.uuid4())
