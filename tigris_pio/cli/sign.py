"""`tigris sign`: signs a plan, or checks a plan's signature."""

from pathlib import Path

import click

from tigris_pio import signing
from tigris_pio.cli.options import SECURITY_VERSION
from tigris_pio.errors import PlanFileError, UsageError
from tigris_pio.files import read_named, write_atomically


@click.command(short_help="Sign a plan, or check its signature.")
@click.argument("plan", type=click.Path(path_type=Path), metavar="PLAN.tgrs")
@click.option("--key", type=click.Path(path_type=Path), required=True, metavar="KEY.pem",
              help="The private key of tigris keygen; with --check the public one will do.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="OUT.tgrs",
              help="The signed plan to write. Default: PLAN itself.")  # fmt: skip
@SECURITY_VERSION
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 unless PLAN is signed by the key.")
def sign(plan: Path, key: Path, output: Path | None, security_version: int | None, check: bool) -> None:
    """Append a signature to PLAN, in place of the one that it has.

    Firmware that was built with the key (custom_tigris_sign, SIGN in CMake) opens no other plan.

    \b
    Examples:
      tigris sign kws.tgrs --key key.pem
      tigris sign kws.tgrs --key key.pub.pem --check
    """
    data = read_named(plan, "a plan that tigris compile wrote", PlanFileError)
    if check:
        if output is not None or security_version is not None:
            raise UsageError("--check writes nothing: leave out -o and --security-version")
        signing.check(data, signing.read_key(key))
        click.echo(f"plan: {plan}, its signature is right")
        return
    signed = signing.sign(data, signing.read_key(key), security_version)
    write_atomically(output or plan, signed)
    click.echo(f"plan: {output or plan}, {len(signed)} bytes with its signature")
