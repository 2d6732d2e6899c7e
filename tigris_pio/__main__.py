"""`python -m tigris_pio` is the `tigris` command."""

import sys


def main() -> None:
    """Loads the commands and runs one. An interrupt while they load ends as one during the command does."""
    try:
        from tigris_pio.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
