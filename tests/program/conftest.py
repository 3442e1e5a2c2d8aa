import pytest

from program import Program


@pytest.fixture(scope="session")
def wireplan():
    return Program()


@pytest.fixture(scope="session")
def scenarios(wireplan):
    return [s["id"] for s in wireplan.json("presets", "scenarios")["presets"]]
