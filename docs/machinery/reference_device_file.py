"""The page of every key of a device file, from the schema, with the worked example."""

from __future__ import annotations

from pathlib import Path

from markdown_table import escaped, table

from ootci.model.device.reference import device_keys

_HEAD = """\
# Device file

A device file is `devices/NAME.yaml`, or a file of your own repository. [`ootci device check`](command-line.md) says
what is wrong with one. Keys that are not in this table are refused. `[]` stands for each entry of a list.
[The schema](schemas/device.json) is for editors: put
`# yaml-language-server: $schema=device.schema.json` into the first line.

## Every key

"""


def page(root: Path) -> str:
    """The page's Markdown.

    Args:
        root: the repository.

    """
    rows = [
        (
            f"**`{key.path}`**" if key.top else f"`{key.path}`",
            escaped(key.kind),
            "required" + ("" if key.top else " with its group") if key.default is None else key.default,
            escaped(key.sentence),
        )
        for key in device_keys()
    ]
    example = (root / "devices" / "openreg.yaml").read_text(encoding="utf-8")
    keys = table(("Key", "What is written there", "When absent", "What it is for"), rows)
    told = "## The worked example\n\n`devices/openreg.yaml`, which is run every night:"
    return f"{_HEAD}{keys}\n{told}\n\n```yaml\n{example}```\n"
