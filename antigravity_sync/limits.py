"""How much a turn may use."""

from __future__ import annotations

import attrs
from attrs.validators import optional

from ._checks import check_amount


@attrs.frozen(kw_only=True)
class Budget:
    """What each turn may use, its subagents included; every turn begins with the whole of it.

    A turn that needs more is stopped, and returns with the text so far and a `stop_reason`. An
    answer that is whole when the budget is used up is an answer like any other. `None` is no limit.

    Calls and tokens are counted as the harness reports them: a model call when it was answered,
    with the tokens that the model says it took. A model that says nothing of tokens is held by
    `tool_calls` alone. After an answer that the harness cannot use one more call may be made. What
    runs while no turn does, woken by a command in the background, is not counted.

    Attributes:
        model_calls: Calls of the model. Tools that the last of them asks for do not run, because no
            call is left to read what comes of it: `MAX_MODEL_CALLS_EXCEEDED`.
        tool_calls: Tool calls, refused ones included: `MAX_TOOL_CALLS_EXCEEDED`.
        input_tokens: Tokens sent to the model, cached ones included: `MAX_INPUT_TOKENS_EXCEEDED`.
            The call that reaches this limit, or one of the next two, may go beyond it.
        output_tokens: Tokens that the model wrote, thinking included: `MAX_OUTPUT_TOKENS_EXCEEDED`.
        total_tokens: The model's own sum of them: `MAX_TOTAL_TOKENS_EXCEEDED`.
    """

    model_calls: int | None = attrs.field(default=None, validator=optional(check_amount))
    tool_calls: int | None = attrs.field(default=None, validator=optional(check_amount))
    input_tokens: int | None = attrs.field(default=None, validator=optional(check_amount))
    output_tokens: int | None = attrs.field(default=None, validator=optional(check_amount))
    total_tokens: int | None = attrs.field(default=None, validator=optional(check_amount))
