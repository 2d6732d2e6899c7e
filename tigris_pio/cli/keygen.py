"""`tigris keygen`: writes a private key that signs plans, and its public key."""

from pathlib import Path

import click

from tigris_pio import signing


@click.command(short_help="Write a key that signs plans.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="KEY.pem",
              help="The private key to write. The public key goes to KEY.pub.pem.")  # fmt: skip
@click.option("--algorithm", type=click.Choice(list(signing.ALGORITHMS)), default="p256", show_default=True,
              help="p256: ECDSA, which mbedTLS and ESP32s verify. ed25519: for firmware with a verifier of its own.")
def keygen(output: Path, algorithm: str) -> None:
    """Write a private key to KEY.pem and its public key to KEY.pub.pem. No existing file is overwritten.

    Keep KEY.pem secret, and outside the repository: whoever has it can sign plans for your devices. Without it, boards
    that check signatures get no new plan.

    \b
    Example:
      tigris keygen -o key.pem
    """
    public = signing.write_key(output, signing.ALGORITHMS[algorithm])
    click.echo(f"private key: {output}, public key: {public}")
