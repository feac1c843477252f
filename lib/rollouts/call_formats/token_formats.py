"""Formats whose markers are special tokens, or text that nothing else begins with."""

from lib.rollouts.call_formats.readers import harmony, json_only, name_only, opened, tool_code
from lib.rollouts.call_formats.rows import (
    INVOKE,
    ONE,
    PARAMETERS,
    PARIS,
    PARIS_3,
    ROME,
    TWO,
    Example,
    Format,
)
from lib.rollouts.call_formats.source import NAME

TOKEN_FORMATS = (
    Format(
        "DeepSeek 3.2",
        r"<｜DSML｜(?:function|tool)_calls>",
        opened,
        (
            Example(
                f"<｜DSML｜function_calls>\n{INVOKE.format('｜DSML｜', 'Paris')}\n"
                "</｜DSML｜function_calls>",
                (PARIS,),
            ),
            Example(
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
                '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
                '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
                "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                (PARIS_3,),
            ),
        ),
    ),
    Format(
        "Step 3",
        r"<｜tool_call_begin｜>(?:function<｜tool_sep｜>\w{1,200}\s*)?",
        opened,
        (
            Example(
                f"<｜tool_calls_begin｜><｜tool_call_begin｜>{INVOKE.format('steptml:', 'Paris')}"
                f"<｜tool_call_end｜><｜tool_sep｜><｜tool_call_begin｜>"
                f"{INVOKE.format('steptml:', 'Rome')}<｜tool_call_end｜><｜tool_calls_end｜>",
                (PARIS, ROME),
            ),
        ),
    ),
    Format(
        "Mistral, Ministral, Magistral, Devstral",
        r"\[TOOL_CALLS\]",
        opened,
        (
            Example(f"[TOOL_CALLS] [{ONE}]", (PARIS,)),
            Example(f"I look.[TOOL_CALLS][{ONE}, {TWO}]</s>", (PARIS, ROME)),
            Example('[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}', (PARIS_3,)),
            Example(
                '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]get_weather[ARGS]'
                '{"city": "Rome"}</s>',
                (PARIS, ROME),
            ),
            Example('[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Paris"}', (PARIS,)),
            Example('[TOOL_CALLS]get_weather{"city": "Paris"}', (PARIS,)),
        ),
    ),
    Format(
        "Gemma 4",
        r"<\|tool_call>",
        opened,
        (
            Example(
                '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>', (PARIS_3,)
            ),
            Example(
                'So.<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>'
                '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|><|tool_response>',
                (PARIS, ROME),
            ),
        ),
    ),
    Format(
        "FunctionGemma",
        r"<start_function_call>",
        opened,
        (
            Example(
                "<start_function_call>call:get_weather{city:<escape>Paris<escape>}"
                "<end_function_call><start_function_response>",
                (PARIS,),
            ),
        ),
    ),
    Format(
        "Gemma 3",
        r"```tool_code[ \t]*\n",
        tool_code,
        (
            Example('```tool_code\nget_weather(city="Paris", days=3)\n```', (PARIS_3,)),
            Example('```tool_code\nprint(get_weather(city="Paris"))\n```', (PARIS,)),
        ),
    ),
    Format(
        "Llama 3",
        r"<\|python_tag\|>",
        opened,
        (
            Example(f"<|python_tag|>{PARAMETERS}<|eom_id|>", (PARIS,)),
            Example(f"<|python_tag|>{PARAMETERS}; {TWO}<|eot_id|>", (PARIS, ROME)),
            Example('<|python_tag|>get_weather.call(city="Paris")<|eom_id|>', (PARIS,)),
        ),
    ),
    Format(
        "Llama 4, LFM 2",
        r"<\|(?:python_start|tool_call_start)\|>",
        opened,
        (
            Example('<|python_start|>[get_weather(city="Paris")]<|python_end|><|eot|>', (PARIS,)),
            Example(
                '<|tool_call_start|>[get_weather(city="Paris"), get_weather(city="Rome")]'
                "<|tool_call_end|>I look.<|im_end|>",
                (PARIS, ROME),
            ),
        ),
    ),
    Format(
        "DeepSeek 3, R1 and 3.1",
        r"<｜tool▁call▁begin｜>",
        opened,
        (
            Example(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
                '```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function'
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Rome"}\n```<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>",
                (PARIS, ROME),
            ),
            Example(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
                (PARIS,),
            ),
        ),
    ),
    Format(
        "Kimi K2",
        r"<\|tool_call_begin\|>",
        opened,
        (
            Example(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                '<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_call_begin|>'
                'functions.get_weather:1<|tool_call_argument_begin|>{"city": "Rome"}'
                "<|tool_call_end|><|tool_calls_section_end|>",
                (PARIS, ROME),
            ),
        ),
    ),
    Format(
        "gpt-oss (harmony)",
        rf"(?:<\|channel\|>[^<\n]{{0,60}}?|<\|start\|>assistant\s+)\bto=(?P<to>{NAME})"
        r"(?:[^<\n]|<\|(?:channel|constrain)\|>){0,100}?<\|message\|>",
        harmony,
        (
            Example(
                "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
                '{"city":"Paris"}<|call|>',
                (PARIS,),
            ),
            Example(
                "<|channel|>analysis<|message|>Need get_weather.<|end|><|start|>assistant"
                "<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>"
                '{"city":"Paris"}<|call|>',
                (PARIS,),
            ),
            Example(
                "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
                '{"city": "Paris"}<|call|>',
                (PARIS,),
            ),
        ),
    ),
    Format(
        "gpt-oss without its special tokens",
        rf"commentary\s+to=(?P<to>{NAME})\s*(?:json\b|code\b)?(?=\s*\{{)",
        harmony,
        (
            Example(
                "analysisWe need the weather.assistantcommentary to=functions.get_weather json"
                '{"city":"Paris"}',
                (PARIS,),
            ),
        ),
    ),
    Format(
        "Granite 3, Phi 4 mini, GigaChat 3",
        r"<\|(?:tool_call|function_call|tool_calls)\|>",
        opened,
        (
            Example(f"<|tool_call|>[{ONE}, {TWO}]", (PARIS, ROME)),
            Example(f"<|tool_call|>[{ONE}]<|/tool_call|>", (PARIS,)),
            Example(f"<|function_call|>{ONE}", (PARIS,)),
        ),
    ),
    Format(
        "Phi 4 mini, FireFunction",
        r"functools(?=\[)",
        json_only,
        (Example(f"functools[{ONE}]<|end|>", (PARIS,)),),
    ),
    Format(
        "InternLM 2",
        r"<\|action_start\|>\s*(?:<\|plugin\|>)?",
        opened,
        (Example(f"<|action_start|><|plugin|>\n{PARAMETERS}<|action_end|>", (PARIS,)),),
    ),
    Format(
        "Command R7B and A",
        r"<\|START_ACTION\|>",
        opened,
        (
            Example(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", '
                '"parameters": {"city": "Paris"}}\n]<|END_ACTION|>',
                (PARIS,),
            ),
        ),
    ),
    Format(
        "Command R",
        r"Action:(?=\s{0,9}```json)",
        json_only,
        (
            Example(
                'Action: ```json\n[\n    {\n        "tool_name": "get_weather",\n        '
                '"parameters": {"city": "Paris"}\n    }\n]```',
                (PARIS,),
            ),
        ),
    ),
    Format(
        "Apertus",
        r"<\|tools_prefix\|>",
        opened,
        (
            Example(
                '<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>', (PARIS,)
            ),
        ),
    ),
    Format(
        "Functionary 2 and 3.2",
        r"(?:<\|recipient\|>\s{0,9}|>>>)(?=[A-Za-z_])",
        name_only,
        (
            Example('<|recipient|> get_weather\n<|content|> {"city": "Paris"}', (PARIS,)),
            Example('>>>get_weather\n{"city": "Paris"}', (PARIS,)),
        ),
    ),
    Format(
        "openPangu",
        r"\[unused11\]",
        opened,
        (Example(f"[unused11][{ONE}][unused12]", (PARIS,)),),
    ),
    Format(
        "HyperCLOVA X SEED",
        r"-> tool/function_call\n",
        json_only,
        (Example(f"-> tool/function_call\n[{ONE}]<|im_end|>", (PARIS,)),),
    ),
)
