"""The table of call formats: what opens a call, who reads it, and examples with their calls."""

from lib.rollouts.call_formats.gemma import gemma_calls
from lib.rollouts.call_formats.pythonic import call_list
from lib.rollouts.call_formats.rows import (
    PARIS,
    PARIS_3,
    ROME,
    Example,
    Format,
)
from lib.rollouts.call_formats.source import NAME, named_json
from lib.rollouts.call_formats.tag_formats import TAG_FORMATS
from lib.rollouts.call_formats.token_formats import TOKEN_FORMATS

FORMATS: tuple[Format, ...] = TAG_FORMATS + TOKEN_FORMATS

BARE: tuple[Format, ...] = (
    Format(
        "Llama 3.2 and 4, ToolACE, watt-tool, xLAM 2: a list as in Python",
        r"\[(?=\s{0,99}[A-Za-z_])",
        lambda source, match: call_list(source, match.start()),
        (
            Example('[get_weather(city="Paris", days=3)]', (PARIS_3,)),
            Example("[get_weather(city='Paris'), get_weather('Rome')]<|eot_id|>", (PARIS, ROME)),
            Example('I look.\n[get_weather(city="Paris")]', (PARIS,)),
        ),
    ),
    Format(
        "Mistral, DeepSeek and Kimi without their special tokens; GLM 4, Functionary 3.2",
        rf"(?={NAME}+(?:\[ARGS\])?\s{{0,9}}(?:```json\s{{0,9}})?\{{)",
        lambda source, match: named_json(source, match.end()),
        (
            Example('get_weather{"city": "Paris"}', (PARIS,)),
            Example('get_weather[ARGS]{"city": "Paris"}', (PARIS,)),
            Example('get_weather\n{"city": "Paris"}', (PARIS,)),
            Example('functions.get_weather:0{"city": "Paris"}', (PARIS,)),
            Example(
                'I look.\nget_weather{"city": "Paris"}\nget_weather{"city": "Rome"}',
                (PARIS, ROME),
            ),
        ),
    ),
    Format(
        "Gemma 4 without its special tokens",
        r"call:(?=[A-Za-z_])",
        lambda source, match: gemma_calls(source, match.start()),
        (
            Example("call:get_weather{city:Paris,days:3}", (PARIS_3,)),
            Example("call:get_weather{city:Paris}call:get_weather{city:Rome}", (PARIS, ROME)),
        ),
    ),
)
"""Formats without a marker, or what is left of one where a server drops special tokens.

They begin a line, name a tool that was offered, and end the reply: what stands within a text is
only mentioned.
"""
