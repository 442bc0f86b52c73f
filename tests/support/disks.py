"""Small disks of their own, which a test fills."""

import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass
class SmallDisk:
    """A mounted disk of some megabytes; every user may enter it."""

    place: Path
    _fillings: int = 0

    @classmethod
    def mounted(cls, megabytes: int) -> "SmallDisk | None":
        """Mount one below /tmp; None where this user may not."""
        place = Path(tempfile.mkdtemp(prefix="judge-gym-disk-", dir="/tmp"))
        place.chmod(0o755)  # the user that runs PostgreSQL enters it
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", place],
            capture_output=True,
        )
        if done.returncode:
            place.rmdir()
            return None
        return cls(place)

    def fill(self) -> None:
        """Leave no byte free; it may be full before."""
        with suppress(OSError), (self.place / f"filling-{self._fillings}").open("wb") as file:
            while True:
                file.write(bytes(65536))
                file.flush()
        self._fillings += 1

    def free(self) -> None:
        """Make room again."""
        for file in self.place.glob("filling-*"):
            file.unlink()

    def unmount(self) -> None:
        """Remove the disk with all that is on it."""
        subprocess.run(["umount", "--lazy", self.place], check=True)
        self.place.rmdir()
