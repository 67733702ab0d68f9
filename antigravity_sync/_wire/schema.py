"""The names we model, read off the generated descriptors so that there is one list of them."""

from __future__ import annotations

from typing import Any, Final

from . import wire_pb2

_step: Final[Any] = wire_pb2.StepUpdate
_state: Final[Any] = wire_pb2.TrajectoryStateUpdate


def _json_names(message: Any) -> frozenset[str]:
    return frozenset(field.json_name for field in message.DESCRIPTOR.fields)


def _message_names(message: Any) -> frozenset[str]:
    return frozenset(
        field.json_name for field in message.DESCRIPTOR.fields if field.message_type is not None
    )


def _enum(enum: Any) -> dict[str | int, str]:
    """Return the names of an enum by themselves and by number, which JSON may use as well."""
    by_number: dict[str | int, str] = {number: name for name, number in reversed(enum.items())}
    return {**by_number, **{name: name for name in enum.keys()}, "": ""}  # noqa: SIM118 - no mapping


STEP_FIELDS: Final = _json_names(_step)
STATE_FIELDS: Final = _json_names(_state)
#: Members of a step that are messages: what it does, and what it asks for.
STEP_REQUESTS: Final = frozenset({"toolConfirmationRequest", "questionsRequest"})
STEP_ACTIONS: Final = _message_names(_step) - STEP_REQUESTS

STEP_STATES: Final = _enum(_step.State)
SOURCES: Final = _enum(_step.Source)
TARGETS: Final = _enum(_step.Target)
TRAJECTORY_STATES: Final = _enum(_state.State)
STOP_REASONS: Final = _enum(_state.StopReason)
HOOKS: Final = _enum(wire_pb2.LifecycleHook)
