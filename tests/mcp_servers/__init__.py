"""MCP servers that the real harness talks to in tests; run as programs, never imported."""
