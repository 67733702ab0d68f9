"""A server over stdio without any package, which starts at once and can misbehave.

python plain.py MODE_FILE: how it behaves is in that file, and it leaves its process id beside it.
"""

import json
import os
import signal
import sys
from pathlib import Path

TEXT = {"type": "string"}
TOOLS = {
    "echo": {"text": TEXT},
    "mark": {"place": TEXT},
    "view_file": {},
    "fail": {},
    "long": {},
    "die": {},
    "stall": {},
}


def call(name, arguments):
    """Return the text of a tool's result, `None` for no answer at all."""
    match name:
        case "mark":
            Path(arguments["place"], "mark").write_text("mcp")
            return "marked"
        case "long":
            return "x" * 100_000 + "zqx-end"
        case "die":
            os._exit(3)
        case "stall":
            return None
    return f"{name} {json.dumps(arguments)}"


def answer(method, params):
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        case "tools/list":
            schemas = [
                (name, {"type": "object", "properties": members}) for name, members in TOOLS.items()
            ]
            return {"tools": [{"name": name, "inputSchema": schema} for name, schema in schemas]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "zqx-resource"}]}
        case "tools/call":
            text = call(params["name"], params.get("arguments") or {})
            content = [{"type": "text", "text": text}]
            return text and {"content": content, "isError": params["name"] == "fail"}
    return {}


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(mode_file):
    mode = mode_file.read_text()
    mode_file.with_suffix(".pid").write_text(str(os.getpid()))
    if mode == "exit":
        sys.exit("zqx-out-of-order")
    if mode == "banner":
        say("Welcome!")
    if mode == "noise":
        sys.stderr.write("zqx-noise\n" * 100_000)
    if mode == "many":
        TOOLS.update({f"tool_{number}": {"text": TEXT} for number in range(200)})
    for line in sys.stdin:
        request = json.loads(line)
        if mode == "hang" or "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "server/discover":
            reply["error"] = {"code": -32601, "message": "unknown"}
        else:
            result = answer(request["method"], request.get("params", {}))
            if result is None:
                continue
            reply["result"] = result
        say(json.dumps(reply))
    if mode == "stay":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
