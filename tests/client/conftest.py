"""The real platform behind TLS with an operator on it; execution is a stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.client import PlatformClient
from tacit.identity.cluster import write_cluster
from tacit.service.server.settings import Settings
from tests.service.world import World, served
from tests.support.platform import generous


@dataclass
class Served:
    world: World
    settings: Settings
    ca: Path

    def client(self, who: str) -> PlatformClient:
        return PlatformClient(self.world.url, token=self.world.tokens[who], ca=self.ca)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    cluster = write_cluster(
        tmp_path_factory.mktemp("cluster"), [f"127.0.0.1:{9100 + i}" for i in range(3)]
    )[-1]
    settings = generous(tmp_path_factory.mktemp("served") / "platform", cluster)
    with served(settings) as world:
        world.add("op", "operator")
        world.add("eye", "viewer")
        yield Served(world, settings, settings.place(settings.tls_certificate or ""))


@pytest.fixture
def op(platform: Served) -> Iterator[PlatformClient]:
    with platform.client("op") as client:
        yield client
