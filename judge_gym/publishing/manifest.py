"""The manifest of a package: each file with its size and SHA-256."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from judge_gym.errors import StoreError
from judge_gym.store.bundles import MANIFEST, BundledFile, measured


class PackageManifest(BaseModel):
    """The content of a package."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Literal["judge-gym replication package"] = "judge-gym replication package"
    format: Literal[1] = 1
    judge_gym: str
    sweep: str
    simulated: bool
    withheld: tuple[str, ...]
    """Windows whose texts may not be shared."""
    figures: int
    files: dict[str, BundledFile]
    """Path within the package → what it holds; all files but this one."""


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a package but its manifest, by their path within it, sorted."""
    names = ((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*"))
    yield from sorted((name, file) for name, file in names if file.is_file() and name != MANIFEST)


def is_package(folder: Path) -> bool:
    """Whether a folder has the manifest of a replication package."""
    try:
        read_package(folder)
    except StoreError:
        return False
    return True


def read_package(folder: Path) -> PackageManifest:
    """Return a package's manifest; raises `StoreError` for a folder that is no package."""
    file = folder / MANIFEST
    remedy = "Name a folder that `judge-gym data publish` has finished."
    if not file.is_file():
        raise StoreError(f"{folder} is no replication package: it has no {MANIFEST}.", remedy)
    try:
        return PackageManifest.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its content"
        raise StoreError(f"{file} cannot be read: {where}: {first['msg']}.", remedy) from None


def damages(folder: Path, manifest: PackageManifest) -> dict[str, str]:
    """Return file → `missing`, `changed` or `added`; empty when every digest agrees."""
    present = dict(files_in(folder))
    found = {}
    for name in sorted(manifest.files.keys() | present.keys()):
        if name not in present:
            found[name] = "missing"
        elif name not in manifest.files:
            found[name] = "added"
        elif measured(present[name]) != manifest.files[name]:
            found[name] = "changed"
    return found
