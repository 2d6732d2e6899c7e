"""The HTML page of --report: `tigris analyze`, `compile`, `verify` and `hil check` write it.

- `compiled`, `verified`, `checked` make the `Page` (`page`) of a compilation, a verification and a board's check
- `picture`, `blocks`, `macs` read a plan; `sweep` plans at other budgets
- `sections` makes sections and tables; `memory_map`, `charts` and `svg` make drawings, `palette` has their colours
- `html` renders a `Page` with the files of `templates`
"""
