"""What PyTorch's relay delivers, as GitHub writes it: with far more keys than anybody reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = "1" * 40
BASE = "2" * 40
PUSHED = "3" * 40


def pull_request(*labels: str, action: str = "synchronize", number: int = 4711, delivery: str = "d1") -> dict[str, Any]:
    """The delivery of an event of a pull request."""
    return {
        "event_type": "pull_request",
        "delivery_id": delivery,
        "payload": {
            "action": action,
            "number": number,
            "pull_request": {
                "id": 1,
                "number": number,
                "title": "Hello ${{ secrets.TOKEN }}",
                "body": "::error::<script>",
                "user": {"login": "somebody"},
                "labels": [{"id": 5, "name": name, "color": "ededed"} for name in labels],
                "head": {"ref": "fix", "sha": HEAD, "repo": {"full_name": "somebody/pytorch", "private": False}},
                "base": {"ref": "main", "sha": BASE, "repo": {"full_name": "pytorch/pytorch"}},
                "merge_commit_sha": None,
            },
            "repository": {"id": 2, "full_name": "pytorch/pytorch"},
            "sender": {"login": "somebody"},
        },
    }


def push(ref: str = "refs/heads/main", delivery: str = "d2", *, deleted: bool = False) -> dict[str, Any]:
    """The delivery of a push."""
    return {
        "event_type": "push",
        "delivery_id": delivery,
        "payload": {
            "ref": ref,
            "before": BASE,
            "after": "0" * 40 if deleted else PUSHED,
            "deleted": deleted,
            "commits": [{"message": "x"}],
            "repository": {"full_name": "pytorch/pytorch"},
        },
    }


def changed(*path: str, value: object) -> dict[str, Any]:
    """The delivery of a pull request with another value at a path, or without it where the value is `...`."""
    delivery = pull_request("a")
    node: Any = delivery
    for key in path[:-1]:
        node = node[key]
    if value is ...:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return delivery


def event_file(path: Path, delivery: dict[str, Any]) -> Path:
    """GitHub's event file of the ``repository_dispatch`` that brings a delivery."""
    event = {
        "action": delivery.get("event_type"),
        "branch": "main",
        "client_payload": delivery,
        "repository": {"id": 3},
    }
    path.write_text(json.dumps(event), encoding="utf-8")
    return path
