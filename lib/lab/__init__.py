"""The lab: base and post-trained pairs made here, and what was measured on them.

`plan` says what is run, `work` runs it (`make lab`), `results` reads what came out.
"""
