"""What the Python sources of a plugin use of torch: names and operators that it needs on every torch."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from unit.stages.compat.predicting import MADE_FOR, SOURCES, Predict, predicted
from unit.stages.compat.wheels import torch_wheel

from ootci.model.compat import FindingKind, Forecast
from ootci.stages.compat import TorchWheel, read_plugin, read_torch

GONE = "from torch.utils.gone import helper"
CONDITIONAL = (
    "import torch\nx = torch.utils.old if hasattr(torch.utils, 'old') else None\n",
    "import torch\n# torch.utils.old\nx = 'torch.utils.old', getattr(torch.utils, 'old', None)\n",
    "import torch\ntry:\n    x = torch.utils.old\nexcept AttributeError:\n    pass\n",
    "import torch\nif not NEW:\n    x = torch.utils.old\n",
    "import torch\ntorch.utils.old = 1\nx = torch.utils.old\n",
    "import torch\nx = torch.Tensor.old, torch.utils.old.never, mytorch.utils.old, my.torch.utils.old\n"
    "torch.utils.old = print\n",
    f"import torch\nif torch.__version__ < '2.15':\n    {GONE}\n",
    f"if NEW:\n    pass\nelif CURRENT >= (2, 15):\n    pass\nelse:\n    {GONE}\n",
    f"import torch.utils\nif hasattr(torch.utils, 'gone'):\n    {GONE}\n",
    f"def load():\n    if NEW:\n        return None\n    {GONE}\n",
    f"def load():\n    if OLD:\n        pass\n    elif NEW:\n        return None\n    {GONE}\n",
    f"def load():\n    try:\n        from torch.new import helper\n    except ImportError:\n        pass\n"
    f"    else:\n        return helper\n    {GONE}\n",
    "from __future__ import annotations\nimport torch\ndef load(x: torch.utils.old) -> torch.utils.old:\n    pass\n",
    "import torch\ndef load(x):\n    y: torch.utils.old = x\n",
    "from torch import utils\ndef load(utils):\n    return utils.old\n",
    "try:\n    from torch import utils\nexcept ImportError:\n    from card import utils\nx = utils.old\n",
    "from card import torch\nx = torch.utils.old\n",
    "import sys\nsys.modules['torch.utils.gone'] = sys\nfrom torch.utils.gone import helper\n",
    "import torch\nsetattr(torch.utils, 'old', print)\nfrom torch.utils import old\n",
    '"""\nfrom torch.utils.gone import helper\n"""\n',
    f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {GONE}\n",
    f"match VERSION:\n    case (2, 13):\n        {GONE}\n",
    "import torch\nx = [torch.ops.aten.full.names] if OLD else []\n",
    "import torch\nx = OLD and torch.ops.aten.full.names\n",
    "import torch\nif hasattr(torch.ops.aten.full, 'names'):\n    x = torch.ops.aten.full.names\n",
    "import torch\ntry:\n    x = torch.ops.aten.full.names\nexcept AttributeError:\n    pass\n",
    "utils = print\nx = utils.old\ndef load():\n    from torch import utils\n",
    "from torch import utils\ntry:\n    pass\nexcept OSError as utils:\n    x = [utils.old]\n",
    "from torch import utils\nmatch x:\n    case [*utils]:\n        pass\ny = utils.old\n",
    "from torch.utils import *\nfrom card import *\nx = old\n",
    "from torch.utils import *\nfrom .compatible import *\nx = old\n",
    "from .utils import *\nx = old\n",
    "from torch.utils import *\ndef load(old):\n    return old\n",
    "from torch.utils import *\n# old\nx = 'old', card.old\n",
    "from torch.utils import *\ntry:\n    x = old\nexcept NameError:\n    pass\n",
    "import torch\n@torch.library.impl(LIBRARY, 'full.names', 'PrivateUse1')\ndef load(x):\n    pass\n",
    "import torch\ntorch.library.register_kernel('aten::full.names', 'card', load)\n",
    "import torch\nif OLD:\n    torch.library.register_fake('aten::full.names', load)\n",
    "import torch\ntorch.library.register_fake('card::full.names', load)\n",
)
CERTAIN = (
    "import torch\nx = torch.utils.gone.helper\n",
    "import torch\ndef load():\n    return [torch.utils.old(1) for x in y]\n",
    "import torch.utils as u\nx = u.old\n",
    "import torch as t\nx = t.utils.old\n",
    "from torch import (\n    Tensor,  # a comment\n    utils as u,\n)\nx = u.old()\n",
    "from torch import Tensor, \\\n    utils\nx = utils.old\n",
    "import os, torch.utils.gone as g\n",
    "from torch.utils.gone import *\n",
    "import torch\ndef load(x: torch.utils.old):\n    pass\n",
    f"if NEW:\n    pass\n{GONE}\n",
    f"def load():\n    if OLD:\n        raise RuntimeError\n    {GONE}\n",
    f"class Card:\n    def load(self):\n        with lock:\n            {GONE}\n",
    "import torch\ndef load(x):\n    if x is torch.ops.aten.full.names:\n        pass\n",
    "import torch\n@register([torch.ops.aten.full.names])\ndef load(x):\n    pass\n",
    "from torch.utils import *\nx = [old(1) for y in z]\n",
    "from torch.utils import *\n@old\ndef load(x):\n    pass\n",
    "from torch import *\nx = utils.old\n",
    "import torch\n@torch.library.register_fake('aten::full.names')\ndef load(x):\n    pass\n",
    "from torch.library import register_autograd\nregister_autograd('aten::full.names', load)\n",
)


@pytest.mark.parametrize(
    ("source", "breaks"), [(source, False) for source in CONDITIONAL] + [(s, True) for s in CERTAIN]
)
def test_only_what_runs_on_every_torch_can_break(predict: Predict, source: str, breaks: bool) -> None:
    """torch-npu 2.14.0 imports names for older releases so; of what it would lack on 2.15.0 it needs nothing."""
    found = predict({"torch_card/__init__.py": source}, requires=MADE_FOR)
    assert (found.forecast is Forecast.BREAK) is breaks, found.why
    assert all(place.startswith("torch_card/__init__.py:") for item in found.findings for place in item.needed_by)


def test_a_need_of_a_function_names_it_unless_the_name_is_needed_elsewhere(predict: Predict) -> None:
    within = "import torch\nclass Card:\n    def load(self):\n        return torch.utils.old\n"
    found = predict({"torch_card/a.py": within}, requires=MADE_FOR)
    assert [item.needed_by for item in found.findings] == [("torch_card/a.py:4 in load()",)]
    assert found.why == "Python: 1 of 1 names gone, only where functions are called"
    both = {"torch_card/a.py": within, "torch_card/b.py": "import torch\nx = torch.utils.old\n"}
    found = predict(both, requires=MADE_FOR)
    assert [item.needed_by for item in found.findings] == [("torch_card/b.py:2",)]
    assert found.why == "Python: 1 of 1 names gone"


def test_a_module_that_replaces_itself_may_have_every_word_in_it(
    tmp_path: Path, torches: tuple[TorchWheel, TorchWheel]
) -> None:
    itself = "import sys\nclass Utils:\n    old = 1\nsys.modules[__name__] = Utils()\n"
    new = read_torch(torch_wheel(tmp_path, "new", "2.15.0", **{"torch/utils/__init__.py": itself}))
    with closing(new.wheel):
        source = {"torch_card/a.py": "import torch\nx = torch.utils.old\n"}
        assert predicted(tmp_path, (torches[0], new), source, requires=MADE_FOR).findings == ()


def test_a_module_for_a_newer_python_may_bind_every_word_in_it(
    tmp_path: Path, torches: tuple[TorchWheel, TorchWheel]
) -> None:
    newer = "if True:\n    helper = 1\nnew syntax\n"
    new = read_torch(torch_wheel(tmp_path, "new", "2.15.0", **{"torch/utils/gone.py": newer}))
    with closing(new.wheel):
        found = predicted(tmp_path, (torches[0], new), SOURCES, requires=MADE_FOR)
        assert not new.modules.has("torch.utils.gone.other")
    assert found.count(FindingKind.NAME) == 0


def test_overloads_that_sources_register_kernels_for_are_the_plugin_s(tmp_path: Path, predict: Predict) -> None:
    source = (
        "import torch\nLIBRARY = torch.library.Library('aten', 'IMPL')\n"
        "LIBRARY.impl('add.Tensor', load, 'PrivateUse1')\n"
        "@torch.library.impl(\n    LIBRARY, 'full.names', 'PrivateUse1'\n)\ndef load(x):\n    pass\n"
        "torch.library.register_kernel('aten::mul.Tensor', 'card', load)\n"
        "torch.library.impl(OTHER, 'mul', 'PrivateUse1')\n"
    )
    found = predict({"torch_card/ops.py": source}, requires=MADE_FOR)
    wheel = read_plugin(next(tmp_path.glob("*.whl")), "card", ())
    assert wheel.used.kernels == {"add.Tensor", "full.names", "mul.Tensor"}
    assert (found.forecast, found.checked.operators) == (Forecast.NO_BREAK, 3)
    assert "1 overloads that it names for kernels are gone, first aten::full.names" in found.notes
