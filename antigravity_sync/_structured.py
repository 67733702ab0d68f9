"""The form that a structured answer must have, and the reading of such an answer.

Pure functions; any thread. A class of the user's is constructed on the thread that reads.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from typing import Final

import attrs

from ._annotations import shape_of
from ._convert import ArgumentError, fit
from ._json_schema import MisfitError, fitted
from ._schema import schema_of
from ._schema_check import check_schema
from ._shapes import Record, Shape
from .errors import ConfigError
from .responses import JsonObject

_OPTION: Final = "response_schema"

#: What the harness has the model add to calls of its own tools; those of `finish` pass through.
_HARNESS_MEMBERS: Final = ("toolAction", "toolSummary")


@attrs.frozen
class AnswerForm:
    """What a structured answer must look like.

    Attributes:
        schema: Its JSON Schema, as the harness is told.
        shape: What it is made into, `None` for a plain dict.
    """

    schema: JsonObject
    shape: Shape | None = None

    @classmethod
    def of(cls, wanted: object) -> AnswerForm:
        """Return the form that a value of `response_schema` asks for.

        Raises:
            ConfigError: It is neither a JSON Schema of an object nor a class that holds data.
        """
        if isinstance(wanted, Mapping):
            check_schema(wanted, _OPTION)
            return cls(wanted)
        if not inspect.isclass(wanted):
            raise ConfigError(
                f"{_OPTION} takes a JSON Schema, a dataclass, an attrs class or a TypedDict, "
                f"not {wanted!r}"
            )
        shape = shape_of(wanted, _OPTION)
        if not isinstance(shape, Record):
            raise ConfigError(
                f"{_OPTION} must be an object, which {wanted.__name__} is not: "
                "make it a member of a dataclass, an attrs class or a TypedDict"
            )
        return cls(schema_of(wanted, _OPTION), shape)

    def read(self, raw: str) -> object:
        """Return a structured answer, stripped of what the schema does not ask for.

        Args:
            raw: The JSON that the model gave.

        Raises:
            MisfitError: It is no JSON, or does not fit.
        """
        try:
            value: object = json.loads(raw, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError) as error:
            raise MisfitError(f"the answer is no JSON ({error})") from error
        properties = self.schema.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        if isinstance(value, dict):
            for name in _HARNESS_MEMBERS:
                if name not in declared:
                    value.pop(name, None)
        plain = fitted(value, self.schema)
        if self.shape is None:
            return plain
        try:
            return fit(plain, self.shape, "the answer")
        except ArgumentError as error:
            raise MisfitError(str(error)) from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number
