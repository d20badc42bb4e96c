"""The page of the files in which the stages meet and of the site's API, with the schema of each beside it."""

from __future__ import annotations

import json

from markdown_table import escaped, table

from ootci.model.schema import schemas
from ootci.stages.render.pages.api import api_schemas

_HEAD = """\
# Files and their schemas

What is in each file, in sentences, is in [the tool's README](../../scripts/ootci/README.md). The schemas are JSON
Schema, draft-07; `ootci schema FILE` prints the same. `schema_version` grows when a reader has to change.

"""


def files() -> dict[str, str]:
    """The page, and the schemas by their places."""
    stages, published = schemas(), api_schemas()
    found = {f"reference/schemas/{_file(name)}": text for name, text in stages.items()}
    found |= {f"reference/schemas/api/{_file(name)}": text for name, text in published.items()}
    parts = [_HEAD, "## Files of the stages\n", _table(stages, ""), "## Files of the dashboard's API\n"]
    parts += ["They are below `api/v1/` of the dashboard.\n", _table(published, "api/")]
    return {"reference/schemas.md": "\n".join(parts), **found}


def _table(texts: dict[str, str], folder: str) -> str:
    rows = []
    for name, text in texts.items():
        schema = json.loads(text)
        keys = ", ".join(f"`{key}`" for key in schema.get("properties", {}))
        about = escaped(str(schema.get("description", schema.get("title", ""))).partition("\n\n")[0])
        rows.append((f"[{name}](schemas/{folder}{_file(name)})", about, keys))
    return table(("Schema", "What it is of", "Keys at the top"), rows)


def _file(name: str) -> str:
    return f"{name.removesuffix('.json').replace('.', '-')}.json"
