"""Real benchmarks behind the protocol of `lib.envs`, one adapter a file.

`bfcl` is an environment, opened as `lib.envs.open_environment("bfcl:multi_turn_base")`; its package
comes with `make benchmarks`. `whoandwhen` reads logs of failures whose decisive step is annotated.
"""
