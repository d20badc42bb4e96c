"""Which wheels of torch are the wanted build, by their label and by what they require."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass

from packaging.tags import Tag

from ootci.adapters.remote_wheel import accelerator_packages
from ootci.adapters.torch_index import CPU, TorchWheel, tags_of

_LABEL = re.compile(r"(cpu|xpu|cu[0-9]+|rocm[0-9.]+)(?:\.|$)")
"""How PyTorch labels its builds in the local part of a version, such as 2.13.0+cpu."""


@dataclass(frozen=True)
class WantedBuild:
    """A build of torch for one Python on this machine.

    Attributes:
        variant: as PyTorch's index names it, such as ``cpu`` or ``cu130``.
        python: such as ``3.12``; None means the tool's own.

    """

    variant: str
    python: str | None = None

    def __str__(self) -> str:
        return f"Python {self.python or '.'.join(platform.python_version_tuple()[:2])} on {platform.machine()}"

    @property
    def tags(self) -> frozenset[Tag]:
        """The tags of wheels that fit."""
        return tags_of(self.python)

    def label_problem(self, wheel: TorchWheel, *, own_index: bool) -> str | None:
        """Why a wheel is another build, by its version; None where it may be the wanted one.

        Args:
            own_index: whether it is listed on the index of this variant, where a label may be missing.

        """
        found = _LABEL.match(wheel.version.local or "")
        if found is not None:
            return None if found[1] == self.variant else f"{wheel.name} is a build for {found[1]}"
        return None if own_index or self.variant == CPU else f"{wheel.name} is not labelled {self.variant}"

    def metadata_problem(self, name: str, metadata: bytes) -> str | None:
        """Why a wheel of that name is another build, by what it requires; None where it may be the wanted one.

        Raises:
            DownloadProblem: the metadata cannot be understood.

        """
        found = accelerator_packages(metadata, self.python) if self.variant == CPU else ()
        return f"{name} requires {found[0]}" if found else None
