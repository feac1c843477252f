"""Formats whose markers are plain tags, which a sentence may mention too."""

from lib.rollouts.call_formats.readers import function_tags, opened
from lib.rollouts.call_formats.rows import (
    INVOKE,
    ONE,
    PARIS,
    PARIS_3,
    QWEN,
    ROME,
    THREE,
    TWO,
    Example,
    Format,
)

TAG_FORMATS = (
    Format(
        "Hermes, Qwen 2.5 and 3, Granite 4, Ernie 4.5, EXAONE; GLM 4.5; Qwen3-Coder, Qwen 3.5",
        r"<tool_call>",
        opened,
        (
            Example(f"<tool_call>\n{THREE}\n</tool_call>", (PARIS_3,)),
            Example(
                f"First:\n<tool_call>\n{ONE}\n</tool_call>\nand then\n<tool_call>\n{TWO}\n"
                "</tool_call><|im_end|>",
                (PARIS, ROME),
            ),
            Example(f"<tool_call>\n{ONE}", (PARIS,)),
            Example(f"<tool_call>\n{ONE}\n{TWO}\n</tool_call>", (PARIS, ROME)),
            Example(f"<tool_call>\n{QWEN.format('Paris')}\n</tool_call>", (PARIS,)),
            Example(
                f"<tool_call>\n{QWEN.format('Paris')}\n</tool_call>\n<tool_call>\n"
                f"{QWEN.format('Rome')}\n</tool_call>",
                (PARIS, ROME),
            ),
            Example(
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
                "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
                (PARIS_3,),
            ),
            Example(
                "I look.<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>"
                "</tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome"
                "</arg_value></tool_call>",
                (PARIS, ROME),
            ),
        ),
        tags=True,
    ),
    Format(
        "Qwen3-Coder, Qwen 3.5, Nemotron 3, Step 3.5, MiniCPM 5 without an outer tag; Llama 3.1, "
        "Functionary 3.1",
        r"<function(?==|\s+name=)",
        function_tags,
        (
            Example(QWEN.format("Paris"), (PARIS,)),
            Example(
                "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n"
                "3\n</parameter>\n</function>\n</tool_call>",
                (PARIS_3,),
            ),
            Example('<function=get_weather>{"city": "Paris"}</function><|eom_id|>', (PARIS,)),
            Example(
                '<function=get_weather>{"city": "Paris"}</function>'
                '<function=get_weather>{"city": "Rome"}</function>',
                (PARIS, ROME),
            ),
            Example(
                '<function name="get_weather"><param name="city">Paris</param></function>',
                (PARIS,),
            ),
        ),
        tags=True,
    ),
    Format(
        "Seed-OSS",
        r"<seed:tool_call>",
        opened,
        (Example(f"<seed:tool_call>\n{QWEN.format('Paris')}\n</seed:tool_call>", (PARIS,)),),
        tags=True,
    ),
    Format(
        "MiniMax M2",
        r"<minimax:tool_call>",
        opened,
        (
            Example(
                f"<minimax:tool_call>\n{INVOKE.format('', 'Paris')}\n{INVOKE.format('', 'Rome')}\n"
                "</minimax:tool_call>",
                (PARIS, ROME),
            ),
        ),
        tags=True,
    ),
    Format(
        "invoke tags without an outer tag",
        r"<invoke(?=\s+name=)",
        function_tags,
        (Example(INVOKE.format("", "Paris"), (PARIS,)),),
        tags=True,
    ),
    Format(
        "OLMo 3; invoke tags",
        r"<function_calls>",
        opened,
        (
            Example(
                "<function_calls>get_weather(city='Paris', days=3)\nget_weather(city='Rome')"
                "</function_calls>",
                (PARIS_3, ROME),
            ),
            Example(f"<function_calls>\n{INVOKE.format('', 'Paris')}\n</function_calls>", (PARIS,)),
        ),
        tags=True,
    ),
    Format(
        "Jamba, Hunyuan, MiniMax M1, Nemotron, LongCat, Qwen2.5-Coder, Granite 20B",
        r"<(?:tool_calls|TOOLCALL|longcat_tool_call|tools|function_call|toolcall)>",
        opened,
        (
            Example(f"<tool_calls>[\n{ONE},\n{TWO}\n]</tool_calls>", (PARIS, ROME)),
            Example(f"<tool_calls>\n{ONE}\n{TWO}\n</tool_calls>", (PARIS, ROME)),
            Example(f"<TOOLCALL>[{ONE}]</TOOLCALL>", (PARIS,)),
            Example(f"<longcat_tool_call>\n{ONE}\n</longcat_tool_call>", (PARIS,)),
            Example(f"<tools>\n{ONE}\n</tools>", (PARIS,)),
            Example(f"<function_call> {ONE}\n<function_call> {TWO}", (PARIS, ROME)),
        ),
        tags=True,
    ),
)
