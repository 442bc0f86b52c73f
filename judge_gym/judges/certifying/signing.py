"""Signatures of certificates: Ed25519 (RFC 8032), by the package cryptography."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge_gym.design.config import read_text
from judge_gym.errors import ConfigError
from judge_gym.judges.certifying.certificate import Certificate, Signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def private_key(key_file: Path) -> "Ed25519PrivateKey":
    """Return the private key of a file (PEM, not encrypted).

    Raises `ConfigError` for a file that is no such key; nothing of it is in the message.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = _loaded(key_file, private=True)
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(key_file, private=True)
    return key


def signed(certificate: Certificate, key: "Ed25519PrivateKey") -> Certificate:
    """Return a certificate signed with a private key."""
    signature = Signature(
        algorithm="ed25519",
        public_key=key.public_key().public_bytes_raw().hex(),
        value=key.sign(_message(certificate)).hex(),
    )
    return certificate.model_copy(update={"signature": signature})


def signature_fault(certificate: Certificate, key_file: Path | None) -> str:
    """Return what is wrong with a signature, as the end of a sentence; empty if nothing is.

    With a public key (PEM) it has to be by that key. Raises `ConfigError` for a file that is none.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    own, signature = certificate.signature, None
    if key_file is not None:
        key = _loaded(key_file, private=False)
        if not isinstance(key, Ed25519PublicKey):
            raise _no_key(key_file, private=False)
        signature = key.public_bytes_raw().hex()
        if own is None:
            return "it is not signed"
    if own is None:
        return ""
    if signature is not None and own.public_key != signature:
        return f"it is signed by another key, {own.public_key[:16]}, than that of {key_file}"
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(own.public_key))
        public.verify(bytes.fromhex(own.value), _message(certificate))
    except (InvalidSignature, ValueError):
        return "its signature is not of its content"
    return ""


def _message(certificate: Certificate) -> bytes:
    return f"{certificate.format} {certificate.digest}".encode()


def _loaded(file: Path, *, private: bool) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    content = read_text(file).encode()
    try:
        if private:
            return serialization.load_pem_private_key(content, password=None)
        return serialization.load_pem_public_key(content)
    except TypeError:
        raise ConfigError(
            f"{file} is encrypted.", "Name a private key that is not encrypted."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _no_key(file, private=private) from None


def _no_key(file: Path, *, private: bool) -> ConfigError:
    which, made = (
        ("private", "openssl genpkey -algorithm ed25519 -out key.pem")
        if private
        else ("public", "openssl pkey -in key.pem -pubout -out key.pub.pem")
    )
    return ConfigError(f"{file} is no {which} Ed25519 key (PEM).", f"Make one: {made}")
