"""procrastinate_jobs.py worker|producer default|best URL SECONDS: as queues.mjs, for procrastinate."""

import asyncio
import json
import sys
import time

import procrastinate

ROLE, SETTINGS, URL, SECONDS = sys.argv[1:5]
BEST = SETTINGS == "best"
PRODUCERS = 50
# It does not wait longer for its backlog.
LONGEST = 20

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=URL, max_size=20 if BEST else 4))


@app.task(name="note")
async def note(n):
    """Does nothing."""


async def produce():
    begin = time.monotonic()
    stop, added = begin + float(SECONDS), 0

    async def one():
        nonlocal added
        while time.monotonic() < stop:
            await note.defer_async(n=1)
            added += 1

    await asyncio.gather(*(one() for _ in range(PRODUCERS)))
    left = added
    query = "SELECT count(*) AS n FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    while left > 0 and time.monotonic() < stop + LONGEST:
        left = (await app.connector.execute_query_one_async(query))["n"]
        await asyncio.sleep(0.02)
    print(json.dumps({"ended": added - left, "added": added, "took": time.monotonic() - begin}))


async def main():
    async with app.open_async():
        if ROLE == "producer":
            await produce()
        elif ROLE == "schema":
            await app.schema_manager.apply_schema_async()
        else:
            print("works", flush=True)
            more = {"concurrency": 50, "delete_jobs": "successful"} if BEST else {}
            await app.run_worker_async(install_signal_handlers=False, **more)


asyncio.run(main())
