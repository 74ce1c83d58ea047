"""What no schema can say: a cursor is taken from a link, a key is for one request, and a member `__proto__` is 400 wherever it stands;
a list of one empty text, which no schema here allows, is sent as the empty list is (`fields[role]=`), which says that no field is wanted.

The client that runs it is left alone: disabled by a link that was followed, it would end the run.
"""

import os
import uuid

import schemathesis
from schemathesis.core.parameters import ParameterLocation


def plain(value):
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name != "__proto__"}
    return [plain(item) for item in value] if isinstance(value, list) else value


@schemathesis.hook
def filter_case(context, case):
    names = [name for name, value in (case.query or {}).items() if value in ("", [""])]
    as_empty = any(name == "include" or name.startswith("fields[") for name in names)
    return not (as_empty and case.meta and case.meta.is_negative_at(ParameterLocation.QUERY))


@schemathesis.hook
def before_call(context, case, **kwargs):
    case.body = plain(case.body)
    path = case.path_parameters or {}
    for name, value in path.items():
        if value == os.environ.get("MANAGEMENT_CLIENT_ID") and case.method.upper() != "GET":
            path[name] = str(uuid.uuid4())
    query = case.query or {}
    for name in ("page[after]", "page[before]"):
        if 0 < len(str(query.get(name, ""))) <= 2048:
            query.pop(name)
    headers = case.headers if case.headers is not None else {}
    key = headers.get("Idempotency-Key")
    if key is not None and 0 < len(key) <= 255 and key.strip() and all(" " <= letter <= "~" for letter in key):
        headers["Idempotency-Key"] = str(uuid.uuid4())
