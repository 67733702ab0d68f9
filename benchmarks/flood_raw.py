"""Child of `streaming.py`: the same turn by hand, in one thread."""

from __future__ import annotations

import json
import os
import sys

from meter import Meter
from raw_client import RawClient


def main(path: str) -> None:
    client = RawClient(path, os.getcwd(), json.dumps({"config": {}}), dict(os.environ))
    client.turn("warm up")
    with Meter() as meter:
        deltas = client.turn("flood")
    client.close()
    meter.report(events=len(deltas), length=sum(map(len, deltas)))


main(*sys.argv[1:])
