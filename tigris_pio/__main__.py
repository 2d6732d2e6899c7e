"""`python -m tigris_pio` is the `tigris` command."""

from tigris_pio.cli.main import main

if __name__ == "__main__":
    main()
