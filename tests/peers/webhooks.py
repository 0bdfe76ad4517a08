"""Verifies webhooks as a receiver does that uses the library `standardwebhooks`.

Reads one JSON object a line, {"secret", "headers", "body"}, and prints a line for each: `accepted`, or the error.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook

for line in sys.stdin:
    received = json.loads(line)
    try:
        Webhook(received["secret"]).verify(received["body"], received["headers"])
        print("accepted", flush=True)
    except Exception as error:  # The library has several.
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
