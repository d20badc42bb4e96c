"""Makes pages of templates: those of tonight, and those that may be taken over from the site of before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ootci.model.verdict import Verdicts

from .looks import page, templates
from .permalinks import canonical
from .reuse import Reusable, digest, makers_digest


class PageMaker:
    """Makes pages, each of which knows where it lies.

    Args:
        folder: the templates.
        verdicts: what the judge found.
        address: where the site is published, if that is known.
        preview_of: the device file that the pages only show a preview of.
        has_docs: whether there is a documentation beside the pages.

    """

    def __init__(
        self, folder: Path, verdicts: Verdicts, address: str | None, preview_of: str | None, *, has_docs: bool
    ) -> None:
        self._address = address
        self.tonight = templates(folder)
        self.tonight.globals.update(verdicts=verdicts, address=address, preview_of=preview_of, docs=has_docs)
        # What may be taken over cannot even ask for tonight's verdicts.
        self.lasting = templates(folder)
        self.lasting.globals.update(preview_of=preview_of)
        self.makers = makers_digest(folder)
        """A digest of what makes pages."""
        self.makers_and_address = digest(self.makers, repr(address))

    def show(self, path: str, template: str, **values: object) -> tuple[str, bytes]:
        """A page of tonight."""
        return path, page(self.tonight, template, {**self._where(path, template), **values})

    def reusable(
        self, path: str, template: str, made_from: Sequence[str], values: Callable[[], Mapping[str, object]]
    ) -> Reusable:
        """A page that stays the same from night to night.

        Args:
            path: where it lies, from the top.
            template: the template.
            made_from: what differs as soon as the values do.
            values: what the template is given.

        """
        where = self._where(path, template)
        key = digest(self.makers, repr(sorted(where.items())), *made_from)
        return Reusable(path, key, lambda: page(self.lasting, template, {**where, **values()}))

    def canonical(self, path: str) -> str | None:
        """The absolute address of a page, where the site's is known."""
        return canonical(self._address, path)

    def _where(self, path: str, template: str) -> dict[str, object]:
        return {"root": "../" * path.count("/"), "here": template, "canonical": canonical(self._address, path)}
