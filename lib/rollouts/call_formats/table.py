"""The table of call formats: what opens a call, who reads it, and examples with their calls."""

import re
from typing import Any, NamedTuple

from lib.rollouts.call_formats.gemma import gemma_calls
from lib.rollouts.call_formats.pythonic import call_list, call_run
from lib.rollouts.call_formats.source import NAME, Found, RawCall, Reader, Source
from lib.rollouts.call_formats.source import json_calls, named_json
from lib.rollouts.call_formats.tags import arg_keys, functions
from lib.rollouts.lenient_json import read_value
from lib.trajectories.schema import Tool

EXAMPLE_TOOLS = (
    Tool(
        "get_weather",
        "The weather of a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "units": {"type": "string"},
            },
            "required": ["city"],
        },
    ),
    Tool("python", "", {"properties": {"code": {"type": "string"}}, "required": ["code"]}),
)
"""The tools of the examples."""


class Example(NamedTuple):
    """A reply, and the arguments of its calls of get_weather."""

    text: str
    calls: tuple[dict[str, Any], ...]


class Format(NamedTuple):
    """A format of calls.

    name: of the format, by the models that use it.
    marker: regular expression of what opens a call; it begins with a literal character.
    read: reads from there.
    examples: as public templates, documentation and tests of servers show the format.
    tags: the marker is plain text, so that a sentence may mention a call in this format.
    """

    name: str
    marker: str
    read: Reader
    examples: tuple[Example, ...]
    tags: bool = False


# ------------------------------------------------------------------------------------- readers


def _body(source: Source, at: int) -> Found | None:
    """Read calls in whatever form comes next: models of one marker differ in what follows."""
    at = source.skip(at)
    if fence := _FENCE.match(source.text, at):
        at = fence.end()
    found = None
    for read in (call_list, json_calls, functions, arg_keys, gemma_calls, named_json, call_run):
        found = read(source, at)
        if found is not None:
            break
    return found


def _opened(source: Source, match: re.Match[str]) -> Found | None:
    """Read what a marker opens: calls one after the other, then what closes them."""
    found = _body(source, match.end())
    if found is None:
        return None
    calls, end = list(found.calls), found.end
    while found is not None and found.calls and source.effort.steps > 0:
        close = _CLOSE.match(source.text, end)
        if close:
            end = close.end()
            break
        at = source.skip(end)
        again = _AGAIN.match(source.text, at)
        found = _body(source, at) if again and source.name(again["name"]) in source.known else None
        if found is not None:
            calls += found.calls
            end = found.end
    return Found(calls, end)


_FENCE = re.compile(r"```[a-z_]{0,20}[ \t]*\n?")
_CLOSE = re.compile(
    r"(?:\s*(?:</[\w:｜]{1,40}>|<\w{1,20}\|>|<end_\w{1,20}>|<\|/\w{1,20}\|>|<\|\w{0,30}_end\|>"
    r"|<｜tool[▁_]calls?[▁_]end｜>|<\|(?:tools_suffix|END_ACTION|call)\|>|\[unused12\]"
    r"|```(?=\s|\Z)))++"
)
_AGAIN = re.compile(rf"(?P<name>{NAME})\s*(?:\[|\{{|\(|<)")


def _functions(source: Source, match: re.Match[str]) -> Found | None:
    """Read `<function=...>` itself, and the tag that closes a group of them."""
    found = functions(source, match.start())
    if found is None or not found.calls:
        return found
    close = _CLOSE.match(source.text, found.end)
    return Found(found.calls, close.end() if close else found.end)


def _harmony(source: Source, match: re.Match[str]) -> Found | None:
    """Read a message to a tool; the header names the tool, the body is its arguments."""
    at = source.skip(match.end())
    if not source.text.startswith("{", at):
        return None
    reading = read_value(source.text, at, source.effort)
    if not reading.whole:
        return Found([], len(source.text))
    call: RawCall = {"name": match["to"], "arguments": reading.value}
    return Found([call], reading.end)


def _tool_code(source: Source, match: re.Match[str]) -> Found | None:
    found = call_list(source, source.skip(match.end())) or call_run(
        source, source.skip(match.end())
    )
    if found is None or not found.calls:
        return found
    fence = re.compile(r"\s*```").match(source.text, found.end)
    return Found(found.calls, fence.end() if fence else found.end)


# ------------------------------------------------------------------------------------- examples

_PARIS = {"city": "Paris"}
_PARIS3 = {"city": "Paris", "days": 3}
_ROME = {"city": "Rome"}


def _json(key: str = "arguments", **arguments: Any) -> str:
    import json

    return json.dumps({"name": "get_weather", key: arguments})


_ONE, _TWO, _THREE = _json(**_PARIS), _json(**_ROME), _json(**_PARIS3)
_PARAMETERS = _json("parameters", **_PARIS)
_QWEN = "<function=get_weather>\n<parameter=city>\n{}\n</parameter>\n</function>"
_INVOKE = (
    '<{0}invoke name="get_weather">\n<{0}parameter name="city">{1}</{0}parameter>\n</{0}invoke>'
)


FORMATS: tuple[Format, ...] = (
    Format(
        "Hermes, Qwen 2.5 and 3, Granite 4, Ernie 4.5, EXAONE; GLM 4.5; Qwen3-Coder, Qwen 3.5",
        r"<tool_call>",
        _opened,
        (
            Example(f"<tool_call>\n{_THREE}\n</tool_call>", (_PARIS3,)),
            Example(
                f"First:\n<tool_call>\n{_ONE}\n</tool_call>\nand then\n<tool_call>\n{_TWO}\n"
                "</tool_call><|im_end|>",
                (_PARIS, _ROME),
            ),
            Example(f"<tool_call>\n{_ONE}", (_PARIS,)),
            Example(f"<tool_call>\n{_ONE}\n{_TWO}\n</tool_call>", (_PARIS, _ROME)),
            Example(f"<tool_call>\n{_QWEN.format('Paris')}\n</tool_call>", (_PARIS,)),
            Example(
                f"<tool_call>\n{_QWEN.format('Paris')}\n</tool_call>\n<tool_call>\n"
                f"{_QWEN.format('Rome')}\n</tool_call>",
                (_PARIS, _ROME),
            ),
            Example(
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
                "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
                (_PARIS3,),
            ),
            Example(
                "I look.<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>"
                "</tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome"
                "</arg_value></tool_call>",
                (_PARIS, _ROME),
            ),
        ),
        tags=True,
    ),
    Format(
        "Qwen3-Coder, Qwen 3.5, Nemotron 3, Step 3.5, MiniCPM 5 without an outer tag; Llama 3.1, "
        "Functionary 3.1",
        r"<function(?==|\s+name=)",
        _functions,
        (
            Example(_QWEN.format("Paris"), (_PARIS,)),
            Example(
                "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n"
                "3\n</parameter>\n</function>\n</tool_call>",
                (_PARIS3,),
            ),
            Example('<function=get_weather>{"city": "Paris"}</function><|eom_id|>', (_PARIS,)),
            Example(
                '<function=get_weather>{"city": "Paris"}</function>'
                '<function=get_weather>{"city": "Rome"}</function>',
                (_PARIS, _ROME),
            ),
            Example(
                '<function name="get_weather"><param name="city">Paris</param></function>',
                (_PARIS,),
            ),
        ),
        tags=True,
    ),
    Format(
        "Seed-OSS",
        r"<seed:tool_call>",
        _opened,
        (Example(f"<seed:tool_call>\n{_QWEN.format('Paris')}\n</seed:tool_call>", (_PARIS,)),),
        tags=True,
    ),
    Format(
        "MiniMax M2",
        r"<minimax:tool_call>",
        _opened,
        (
            Example(
                f"<minimax:tool_call>\n{_INVOKE.format('', 'Paris')}\n{_INVOKE.format('', 'Rome')}\n"
                "</minimax:tool_call>",
                (_PARIS, _ROME),
            ),
        ),
        tags=True,
    ),
    Format(
        "DeepSeek 3.2",
        r"<｜DSML｜(?:function|tool)_calls>",
        _opened,
        (
            Example(
                f"<｜DSML｜function_calls>\n{_INVOKE.format('｜DSML｜', 'Paris')}\n"
                "</｜DSML｜function_calls>",
                (_PARIS,),
            ),
            Example(
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
                '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
                '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
                "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                (_PARIS3,),
            ),
        ),
    ),
    Format(
        "Step 3",
        r"<｜tool_call_begin｜>(?:function<｜tool_sep｜>\w{1,200}\s*)?",
        _opened,
        (
            Example(
                f"<｜tool_calls_begin｜><｜tool_call_begin｜>{_INVOKE.format('steptml:', 'Paris')}"
                f"<｜tool_call_end｜><｜tool_sep｜><｜tool_call_begin｜>"
                f"{_INVOKE.format('steptml:', 'Rome')}<｜tool_call_end｜><｜tool_calls_end｜>",
                (_PARIS, _ROME),
            ),
        ),
    ),
    Format(
        "invoke tags without an outer tag",
        r"<invoke(?=\s+name=)",
        _functions,
        (Example(_INVOKE.format("", "Paris"), (_PARIS,)),),
        tags=True,
    ),
    Format(
        "OLMo 3; invoke tags",
        r"<function_calls>",
        _opened,
        (
            Example(
                "<function_calls>get_weather(city='Paris', days=3)\nget_weather(city='Rome')"
                "</function_calls>",
                (_PARIS3, _ROME),
            ),
            Example(
                f"<function_calls>\n{_INVOKE.format('', 'Paris')}\n</function_calls>", (_PARIS,)
            ),
        ),
        tags=True,
    ),
    Format(
        "Jamba, Hunyuan, MiniMax M1, Nemotron, LongCat, Qwen2.5-Coder, Granite 20B",
        r"<(?:tool_calls|TOOLCALL|longcat_tool_call|tools|function_call|toolcall)>",
        _opened,
        (
            Example(f"<tool_calls>[\n{_ONE},\n{_TWO}\n]</tool_calls>", (_PARIS, _ROME)),
            Example(f"<tool_calls>\n{_ONE}\n{_TWO}\n</tool_calls>", (_PARIS, _ROME)),
            Example(f"<TOOLCALL>[{_ONE}]</TOOLCALL>", (_PARIS,)),
            Example(f"<longcat_tool_call>\n{_ONE}\n</longcat_tool_call>", (_PARIS,)),
            Example(f"<tools>\n{_ONE}\n</tools>", (_PARIS,)),
            Example(f"<function_call> {_ONE}\n<function_call> {_TWO}", (_PARIS, _ROME)),
        ),
        tags=True,
    ),
    Format(
        "Mistral, Ministral, Magistral, Devstral",
        r"\[TOOL_CALLS\]",
        _opened,
        (
            Example(f"[TOOL_CALLS] [{_ONE}]", (_PARIS,)),
            Example(f"I look.[TOOL_CALLS][{_ONE}, {_TWO}]</s>", (_PARIS, _ROME)),
            Example('[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}', (_PARIS3,)),
            Example(
                '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]get_weather[ARGS]'
                '{"city": "Rome"}</s>',
                (_PARIS, _ROME),
            ),
            Example('[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Paris"}', (_PARIS,)),
            Example('[TOOL_CALLS]get_weather{"city": "Paris"}', (_PARIS,)),
        ),
    ),
    Format(
        "Gemma 4",
        r"<\|tool_call>",
        _opened,
        (
            Example(
                '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>', (_PARIS3,)
            ),
            Example(
                'So.<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>'
                '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|><|tool_response>',
                (_PARIS, _ROME),
            ),
        ),
    ),
    Format(
        "FunctionGemma",
        r"<start_function_call>",
        _opened,
        (
            Example(
                "<start_function_call>call:get_weather{city:<escape>Paris<escape>}"
                "<end_function_call><start_function_response>",
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "Gemma 3",
        r"```tool_code[ \t]*\n",
        _tool_code,
        (
            Example('```tool_code\nget_weather(city="Paris", days=3)\n```', (_PARIS3,)),
            Example('```tool_code\nprint(get_weather(city="Paris"))\n```', (_PARIS,)),
        ),
    ),
    Format(
        "Llama 3",
        r"<\|python_tag\|>",
        _opened,
        (
            Example(f"<|python_tag|>{_PARAMETERS}<|eom_id|>", (_PARIS,)),
            Example(f"<|python_tag|>{_PARAMETERS}; {_TWO}<|eot_id|>", (_PARIS, _ROME)),
            Example('<|python_tag|>get_weather.call(city="Paris")<|eom_id|>', (_PARIS,)),
        ),
    ),
    Format(
        "Llama 4, LFM 2",
        r"<\|(?:python_start|tool_call_start)\|>",
        _opened,
        (
            Example('<|python_start|>[get_weather(city="Paris")]<|python_end|><|eot|>', (_PARIS,)),
            Example(
                '<|tool_call_start|>[get_weather(city="Paris"), get_weather(city="Rome")]'
                "<|tool_call_end|>I look.<|im_end|>",
                (_PARIS, _ROME),
            ),
        ),
    ),
    Format(
        "DeepSeek 3, R1 and 3.1",
        r"<｜tool▁call▁begin｜>",
        _opened,
        (
            Example(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
                '{"city": "Paris"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>'
                'get_weather\n```json\n{"city": "Rome"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
                (_PARIS, _ROME),
            ),
            Example(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "Kimi K2",
        r"<\|tool_call_begin\|>",
        _opened,
        (
            Example(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                '<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_call_begin|>'
                'functions.get_weather:1<|tool_call_argument_begin|>{"city": "Rome"}'
                "<|tool_call_end|><|tool_calls_section_end|>",
                (_PARIS, _ROME),
            ),
        ),
    ),
    Format(
        "gpt-oss (harmony)",
        rf"(?:<\|channel\|>[^<\n]{{0,60}}?|<\|start\|>assistant\s+)\bto=(?P<to>{NAME})"
        r"(?:[^<\n]|<\|(?:channel|constrain)\|>){0,100}?<\|message\|>",
        _harmony,
        (
            Example(
                "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
                '{"city":"Paris"}<|call|>',
                (_PARIS,),
            ),
            Example(
                "<|channel|>analysis<|message|>Need get_weather.<|end|><|start|>assistant"
                "<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>"
                '{"city":"Paris"}<|call|>',
                (_PARIS,),
            ),
            Example(
                "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
                '{"city": "Paris"}<|call|>',
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "gpt-oss without its special tokens",
        rf"commentary\s+to=(?P<to>{NAME})\s*(?:json\b|code\b)?(?=\s*\{{)",
        _harmony,
        (
            Example(
                "analysisWe need the weather.assistantcommentary to=functions.get_weather json"
                '{"city":"Paris"}',
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "Granite 3, Phi 4 mini, GigaChat 3",
        r"<\|(?:tool_call|function_call|tool_calls)\|>",
        _opened,
        (
            Example(f"<|tool_call|>[{_ONE}, {_TWO}]", (_PARIS, _ROME)),
            Example(f"<|tool_call|>[{_ONE}]<|/tool_call|>", (_PARIS,)),
            Example(f"<|function_call|>{_ONE}", (_PARIS,)),
        ),
    ),
    Format(
        "Phi 4 mini, FireFunction",
        r"functools(?=\[)",
        _opened,
        (Example(f"functools[{_ONE}]<|end|>", (_PARIS,)),),
    ),
    Format(
        "InternLM 2",
        r"<\|action_start\|>\s*(?:<\|plugin\|>)?",
        _opened,
        (Example(f"<|action_start|><|plugin|>\n{_PARAMETERS}<|action_end|>", (_PARIS,)),),
    ),
    Format(
        "Command R7B and A",
        r"<\|START_ACTION\|>",
        _opened,
        (
            Example(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", '
                '"parameters": {"city": "Paris"}}\n]<|END_ACTION|>',
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "Command R",
        r"Action:(?=\s{0,9}```json)",
        _opened,
        (
            Example(
                'Action: ```json\n[\n    {\n        "tool_name": "get_weather",\n        '
                '"parameters": {"city": "Paris"}\n    }\n]```',
                (_PARIS,),
            ),
        ),
    ),
    Format(
        "Apertus",
        r"<\|tools_prefix\|>",
        _opened,
        (
            Example(
                '<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>', (_PARIS,)
            ),
        ),
    ),
    Format(
        "Functionary 2 and 3.2",
        r"(?:<\|recipient\|>\s{0,9}|>>>)(?=[A-Za-z_])",
        _opened,
        (
            Example('<|recipient|> get_weather\n<|content|> {"city": "Paris"}', (_PARIS,)),
            Example('>>>get_weather\n{"city": "Paris"}', (_PARIS,)),
        ),
    ),
    Format(
        "openPangu",
        r"\[unused11\]",
        _opened,
        (Example(f"[unused11][{_ONE}][unused12]", (_PARIS,)),),
    ),
    Format(
        "HyperCLOVA X SEED",
        r"-> tool/function_call\n",
        _opened,
        (Example(f"-> tool/function_call\n[{_ONE}]<|im_end|>", (_PARIS,)),),
    ),
)

BARE = (
    Format(
        "Llama 3.2 and 4, ToolACE, watt-tool, xLAM 2: a list as in Python",
        r"\[(?=\s{0,99}[A-Za-z_])",
        lambda source, match: call_list(source, match.start()),
        (
            Example('[get_weather(city="Paris", days=3)]', (_PARIS3,)),
            Example("[get_weather(city='Paris'), get_weather('Rome')]<|eot_id|>", (_PARIS, _ROME)),
            Example('I look.\n[get_weather(city="Paris")]', (_PARIS,)),
        ),
    ),
    Format(
        "Mistral, DeepSeek and Kimi without their special tokens; GLM 4, Functionary 3.2",
        rf"(?={NAME}+(?:\[ARGS\])?\s{{0,9}}(?:```json\s{{0,9}})?\{{)",
        lambda source, match: named_json(source, match.end()),
        (
            Example('get_weather{"city": "Paris"}', (_PARIS,)),
            Example('get_weather[ARGS]{"city": "Paris"}', (_PARIS,)),
            Example('get_weather\n{"city": "Paris"}', (_PARIS,)),
            Example('functions.get_weather:0{"city": "Paris"}', (_PARIS,)),
            Example('I look.\nget_weather{"city": "Paris"}\nget_weather{"city": "Rome"}', (_PARIS, _ROME)),
        ),
    ),
    Format(
        "Gemma 4 without its special tokens",
        r"call:(?=[A-Za-z_])",
        lambda source, match: gemma_calls(source, match.start()),
        (
            Example("call:get_weather{city:Paris,days:3}", (_PARIS3,)),
            Example("call:get_weather{city:Paris}call:get_weather{city:Rome}", (_PARIS, _ROME)),
        ),
    ),
)  # fmt: skip
"""Formats without a marker, or what is left of one where a server drops special tokens.

They begin a line, name a tool that was offered, and end the reply: what stands within a text is
only mentioned.
"""
