"""Real nodes on the real middleware: a domain of this run's own, the node in a process of its own, this process at the other end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rig import NodeProcess, Rig


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.ros)
            if item.get_closest_marker("slow") is None:
                # Discovery and delivery depend on what else the machine does; a fault of ours comes back each time.
                item.add_marker(pytest.mark.flaky(reruns=2))
            # A library below rosidl's message classes imports it on first use.
            item.add_marker(pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"))


@pytest.fixture(scope="session", autouse=True)
def own_domain() -> None:
    """Discovery stays on this machine, and apart from other runs on it."""
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


@pytest.fixture
def rig(own_domain: None) -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


@pytest.fixture
def start(tmp_path: Path, own_domain: None) -> Iterator[Callable[..., NodeProcess]]:
    """Starts node processes, waits until they are ready unless told not to, and sees to it that all are gone at the end of the test."""
    yield from starter(tmp_path)


@pytest.fixture(scope="module")
def shared_rig(own_domain: None) -> Iterator[Rig]:
    """A rig for all tests of a module, for those that start one node with `shared_start`."""
    rig = Rig()
    yield rig
    rig.close()


@pytest.fixture(scope="module")
def shared_start(tmp_path_factory: pytest.TempPathFactory, own_domain: None) -> Iterator[Callable[..., NodeProcess]]:
    """`start` for a node that all tests of a module look at."""
    yield from starter(tmp_path_factory.mktemp("node"))


def starter(folder: Path) -> Iterator[Callable[..., NodeProcess]]:
    processes: list[NodeProcess] = []

    def start(*arguments: str, ready: bool = True, **engine: object) -> NodeProcess:
        process = NodeProcess(folder / f"node{len(processes)}.log", arguments, engine)
        processes.append(process)
        if ready:
            process.wait_until_ready()
        return process

    yield start
    for process in processes:
        process.kill()
