r"""Prompt formats: how a model is spoken to, and how its reply becomes a message with tool calls.

`Harness` and `Plain` write plain text for base models. `ChatTemplate` fills in the template of a
post-trained model, `ServerChat` leaves that to a server. `WordLanguage` is the language of the
lab's own small models.

>>> from lib.rollouts.policies import Context
>>> from lib.rollouts.prompts import Harness
>>> from lib.trajectories import Message, Tool
>>> press = Tool("press", "Press a button.", {"properties": {"n": {"type": "integer"}}})
>>> context = Context("Open the box.", (press,), (Message("user", "It is locked."),))
>>> print(Harness().prompt(context)[-40:])
### User:
It is locked.
<BLANKLINE>
### Assistant:
<BLANKLINE>
>>> reply = '```tool_call\n[{"name": "press", "arguments": {"n": "3"}}]'
>>> Harness().read(reply, context).tool_calls  # "3" became an integer, as the schema has it
(ToolCall(name='press', arguments={'n': 3}, id=None),)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "chat": ["ChatTemplate", "ServerChat"],
        "harness": ["Harness", "Plain"],
        "protocol": ["PromptFormat"],
        "word_language": ["WordLanguage"],
    },
)
