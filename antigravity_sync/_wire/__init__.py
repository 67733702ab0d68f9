"""Between bytes and values: handshake frames, JSON codec, and what each version understands.

Nothing here knows a state; the session core decides, this floor only reads and writes.
"""
