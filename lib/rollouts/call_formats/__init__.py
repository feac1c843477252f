r"""Replies as text: the thought, what was said, and the calls in the format of the model.

`read_reply` reads a reply of any model; `FORMATS` lists the formats, each with examples.

>>> from lib.rollouts.call_formats import read_reply
>>> from lib.trajectories import Tool
>>> weather = Tool("weather", "", {"properties": {"days": {"type": "integer"}}})
>>> reply = read_reply(
...     "<think>Or weather(days=9)?</think>Here:\n<tool_call>\n<function=weather>\n"
...     "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>", [weather])
>>> reply.thought, reply.calls
('Or weather(days=9)?', (ToolCall(name='weather', arguments={'days': 3}, id=None),))
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "replies": ["ReadReply", "read_arguments", "read_reply"],
        "thoughts": ["opens_thought", "said", "split_thought", "without_thought"],
    },
)
