"""Chat templates in the manner of 19 families of models: what each takes, writes and refuses.

They are written for these tests after the public documentation of the families; each keeps what
makes its family differ (roles, tools, ids, arguments, thoughts), not every word.
"""

_GENERATE = "{% if add_generation_prompt %}BEGIN{% endif %}"


def _ending(begin):
    return _GENERATE.replace("BEGIN", begin)


_IM = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
_HERMES_TOOLS = (
    "{% if tools %}<|im_start|>system\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content }}\n\n{% endif %}"
    "# Tools\n<tools>{% for t in tools %}\n{{ t | tojson }}{% endfor %}\n</tools><|im_end|>\n"
    "{% elif messages[0].role == 'system' %}<|im_start|>system\n{{ messages[0].content }}"
    "<|im_end|>\n{% endif %}"
)
_HERMES_CALLS = (
    "{% for c in m.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}"
)
_QWEN = (
    _HERMES_TOOLS + "{% for m in messages %}"
    "{% if m.role == 'user' or (m.role == 'system' and not loop.first) %}" + _IM + "{% elif "
    "m.role == 'assistant' %}<|im_start|>assistant\n{{ CONTENT }}" + _HERMES_CALLS + "<|im_end|>\n"
    "{% elif m.role == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}"
    "\n<tool_response>\n{{ m.content }}\n</tool_response>"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>\n{% endif %}"
    "{% endif %}{% endfor %}"
)
_ALTERNATE = (
    "{% for m in loop_messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}"
)
_NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% set loop_messages = messages %}"
)
_SPLIT_SYSTEM = (
    "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set loop_messages = messages[1:] %}{% else %}{% set system = '' %}"
    "{% set loop_messages = messages %}{% endif %}"
)
_MISTRAL_ROLES = (
    "{% set ns = namespace(index=0) %}{% for m in loop_messages %}"
    "{% if not (m.role == 'tool' or m.tool_calls is defined) %}"
    "{% if (m.role == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('After the optional "
    "system message, conversation roles must alternate user/assistant') }}{% endif %}"
    "{% set ns.index = ns.index + 1 %}{% endif %}{% endfor %}"
)
_NINE = (
    "{% if ID is not defined or ID | length != 9 %}"
    "{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}"
    "{% endif %}"
)
_MISTRAL = (
    _SPLIT_SYSTEM + _MISTRAL_ROLES + "{% set asked = loop_messages | selectattr('role', 'equalto', "
    "'user') | list %}{{ bos_token }}{% for m in loop_messages %}{% if m.role == 'user' %}"
    "{% if tools and m == asked[-1] %}[AVAILABLE_TOOLS] {{ tools | tojson }}[/AVAILABLE_TOOLS]"
    "{% endif %}[INST] {% if loop.last and system %}{{ system }}\n\n{% endif %}{{ m.content }}"
    "[/INST]{% elif m.tool_calls is defined %}[TOOL_CALLS] [{% for c in m.tool_calls %}"
    + _NINE.replace("ID", "c.id")
    + '{{ (c.function | tojson)[:-1] }}, "id": "{{ c.id }}"}{% if not loop.last %}, {% endif %}'
    "{% endfor %}]{{ eos_token }}{% elif m.role == 'assistant' %} {{ m.content + eos_token }}"
    "{% elif m.role == 'tool' %}"
    + _NINE.replace("ID", "m.tool_call_id")
    + '[TOOL_RESULTS] {"content": {{ m.content }}, "call_id": "{{ m.tool_call_id }}"}'
    "[/TOOL_RESULTS]{% else %}{{ raise_exception('Only user and assistant roles') }}{% endif %}"
    "{% endfor %}"
)
_LLAMA_HEAD = "<|start_header_id|>ROLE<|end_header_id|>\n\n"

TEMPLATES = {
    "chatml": "{% for m in messages %}" + _IM + "{% endfor %}" + _ending("<|im_start|>assistant\n"),
    "qwen 2.5": _QWEN.replace("CONTENT", "m.content") + _ending("<|im_start|>assistant\n"),
    "qwen 3": _QWEN.replace(
        "CONTENT",
        "m.content.split('</think>')[-1].lstrip('\\n') if '</think>' in m.content else m.content",
    )
    + _ending(
        "<|im_start|>assistant\n{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    ),
    "hermes": {
        "default": "{{ bos_token }}{% for m in messages %}"
        + _IM
        + "{% endfor %}"
        + _ending("<|im_start|>assistant\n"),
        "tool_use": "{{ bos_token }}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n"
        "{% endfor %}<|im_end|>\n{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
        + _HERMES_CALLS
        + "<|im_end|>\n{% endfor %}"
        + _ending("<|im_start|>assistant\n"),
    },
    "llama 2": _SPLIT_SYSTEM + _ALTERNATE + "{% if loop.first and system %}{% set content = "
    "'<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + m.content %}{% else %}{% set content = "
    "m.content %}{% endif %}{% if m.role == 'user' %}{{ bos_token if loop.first else '' }}"
    "[INST] {{ content.strip() }} [/INST]{% elif m.role == 'assistant' %} {{ content.strip() }} "
    "{{ eos_token }}{% endif %}{% endfor %}",
    "llama 3.1": "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = "
    "messages[0].content %}{% set messages = messages[1:] %}{% else %}{% set system = '' %}"
    "{% endif %}" + _LLAMA_HEAD.replace("ROLE", "system") + "{{ system }}<|eot_id|>{% if tools %}"
    "{% if messages | length == 0 %}{{ raise_exception('Cannot put tools in the first user message "
    "when there is none!') }}{% endif %}{% set first = messages[0].content %}{% set messages = "
    "messages[1:] %}" + _LLAMA_HEAD.replace("ROLE", "user") + "{% for t in tools %}"
    "{{ t | tojson(indent=4) }}\n\n{% endfor %}{{ first }}<|eot_id|>{% endif %}"
    "{% for m in messages %}{% if 'tool_calls' in m %}{% if m.tool_calls | length != 1 %}"
    "{{ raise_exception('This model only supports single tool-calls at once!') }}{% endif %}"
    "{% set c = m.tool_calls[0].function %}"
    + _LLAMA_HEAD.replace("ROLE", "assistant")
    + '{"name": "{{ c.name }}", "parameters": {{ c.arguments | tojson }}}<|eot_id|>'
    "{% elif m.role == 'tool' or m.role == 'ipython' %}"
    + _LLAMA_HEAD.replace("ROLE", "ipython")
    + "{% if m.content is mapping or m.content is iterable %}{{ m.content | tojson }}{% else %}"
    "{{ m.content }}{% endif %}<|eot_id|>{% else %}"
    + _LLAMA_HEAD.replace("ROLE", "{{ m.role }}")
    + "{{ m.content | trim }}<|eot_id|>{% endif %}{% endfor %}"
    + _ending(_LLAMA_HEAD.replace("ROLE", "assistant")),
    "mistral 7b": "{{ bos_token }}{% set loop_messages = messages %}"
    + _ALTERNATE
    + "{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% elif m.role == 'assistant' %}"
    "{{ m.content }}{{ eos_token }}{% else %}{{ raise_exception('Only user and assistant roles are "
    "supported!') }}{% endif %}{% endfor %}",
    "mistral nemo": _MISTRAL,
    "gemma 2": "{{ bos_token }}" + _NO_SYSTEM + _ALTERNATE + "{% set role = 'model' if m.role == "
    "'assistant' else m.role %}<start_of_turn>{{ role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}" + _ending("<start_of_turn>model\n"),
    "gemma 3": "{{ bos_token }}"
    + _SPLIT_SYSTEM
    + _ALTERNATE
    + "{% set role = 'model' if m.role == "
    "'assistant' else m.role %}<start_of_turn>{{ role }}\n{% if loop.first and system %}"
    "{{ system }}\n\n{% endif %}{% if m.content is string %}{{ m.content | trim }}{% else %}"
    "{{ raise_exception('Invalid content type') }}{% endif %}<end_of_turn>\n{% endfor %}"
    + _ending("<start_of_turn>model\n"),
    "phi 3": "{% for m in messages %}{% if m.role in ('system', 'user', 'assistant') %}"
    "<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endif %}{% endfor %}"
    + _ending("<|assistant|>\n"),
    "phi 4 mini": "{% for m in messages %}{% if m.role == 'system' and m.tools is defined %}"
    "<|system|>{{ m.content }}<|tool|>{{ m.tools }}<|/tool|><|end|>{% else %}<|{{ m.role }}|>"
    "{{ m.content }}<|end|>{% endif %}{% endfor %}" + _ending("<|assistant|>"),
    "zephyr": "{% for m in messages %}{% if m.role == 'user' %}<|user|>\n"
    "{{ m.content + eos_token }}"
    "{% elif m.role == 'system' %}<|system|>\n{{ m.content + eos_token }}{% elif m.role == "
    "'assistant' %}<|assistant|>\n{{ m.content + eos_token }}{% endif %}\n{% endfor %}"
    + _ending("<|assistant|>\n"),
    "vicuna": "{{ bos_token }}" + _SPLIT_SYSTEM + "{{ system }} " + _ALTERNATE + "{% if m.role == "
    "'user' %}USER: {{ m.content | trim }} {% else %}ASSISTANT: {{ m.content | trim }}"
    "{{ eos_token }}"
    "{% endif %}{% endfor %}" + _ending("ASSISTANT:"),
    "deepseek r1": "{{ bos_token }}{% for m in messages if m.role == 'system' %}{{ m.content }}"
    "{% endfor %}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
    "{% elif m.role == 'assistant' and m.content is none %}{% for c in m.tool_calls %}"
    "<｜tool▁call▁begin｜>{{ c.type + c.function.name + c.function.arguments }}{% endfor %}"
    "{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content.split('</think>')[-1] }}"
    "<｜end▁of▁sentence｜>{% elif m.role == 'tool' %}<｜tool▁output▁begin｜>{{ m.content }}"
    "<｜tool▁output▁end｜>{% endif %}{% endfor %}" + _ending("<｜Assistant｜><think>\n"),
    "deepseek v3": "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
    "{{ m.content }}"
    "{% if tools %}\n## Tools\n{{ tools | tojson }}{% endif %}{% elif m.role == 'user' %}"
    "<｜User｜>{{ m.content }}{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<｜tool▁call▁begin｜>"
    "{{ c.function.name + '<｜tool▁sep｜>' + c.function.arguments }}<｜tool▁call▁end｜>{% endfor %}"
    "<｜end▁of▁sentence｜>{% elif m.role == 'tool' %}<｜tool▁output▁begin｜>{{ m.content }}"
    "<｜tool▁output▁end｜>{% endif %}{% endfor %}" + _ending("<｜Assistant｜>"),
    "command r": "{{ bos_token }}{% for m in messages if m.role == 'system' %}<|SYSTEM|>"
    "{{ m.content }}{% endfor %}{% for t in tools or [] %}def {{ t.function.name }}("
    "{% for name, field in t.function.parameters.properties.items() %}"
    "{{ name + ': ' + field.type }}"
    "{{ ' (' + field.description + ')' }}{% endfor %}){% endfor %}{% for m in messages %}"
    "{% if m.role == 'user' %}<|USER|>{{ m.content }}{% elif m.tool_calls is defined %}<|CHATBOT|>"
    "Action: {{ m.tool_calls | map(attribute='function') | list | tojson }}{% elif m.role == "
    "'assistant' %}<|CHATBOT|>{{ m.content }}{% elif m.role == 'tool' %}<results>{{ m.content }}"
    "</results>{% endif %}{% endfor %}" + _ending("<|CHATBOT|>"),
    "gpt-oss": "<|start|>system<|message|>Reasoning: low<|end|>"
    "{% if messages[0].role == 'system' %}"
    "{% set system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}"
    "<|start|>developer<|message|>{{ system }}{% for t in tools or [] %}\ntype "
    "{{ t.function.name }} = (_: {{ t.function.parameters | tojson }}) => any;{% endfor %}<|end|>"
    "{% for m in messages %}{% if m.role == 'assistant' %}{% if '<|channel|>' in m.content %}"
    "{{ raise_exception('You have passed a message containing <|channel|> tags in the content') }}"
    "{% endif %}{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}"
    "<|end|>{% endif %}{% if m.tool_calls is defined %}{% if m.tool_calls | length != 1 %}"
    "{{ raise_exception('one call only') }}{% endif %}{% set c = m.tool_calls[0].function %}"
    "{% set called = true %}<|start|>assistant to=functions.{{ c.name }}<|channel|>commentary json"
    "<|message|>{{ c.arguments | tojson }}<|call|>{% else %}<|start|>assistant<|channel|>final"
    "<|message|>{{ m.content }}<|end|>{% endif %}{% elif m.role == 'tool' %}"
    "{% if loop.index0 == 0 or messages[loop.index0 - 1].tool_calls is not defined %}"
    "{{ raise_exception('Message has tool role, but there was no previous assistant message with a "
    "tool call!') }}{% endif %}<|start|>functions to=assistant<|channel|>commentary<|message|>"
    "{{ m.content | tojson }}<|end|>{% else %}<|start|>user<|message|>{{ m.content }}<|end|>"
    "{% endif %}{% endfor %}" + _ending("<|start|>assistant"),
    "kimi": "{% for t in tools or [] %}<|im_system|>{{ t | tojson }}<|im_end|>{% endfor %}"
    "{% for m in messages %}<|im_{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>"
    "{% if c.function.arguments is string %}"
    "{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}"
    "<|tool_call_end|>{% endfor %}<|im_end|>{% endfor %}" + _ending("<|im_assistant|>"),
}
