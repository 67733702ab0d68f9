"""The session as a machine without I/O: `handle(input, now) -> actions`.

It knows neither protobuf nor JSON, opens nothing, waits for nothing and reads no clock: the pump
feeds it what happened and carries out what it answers.
"""
