"""The `tigris` command, one module a subcommand."""
