"""Where the tasks of a command run: the options of commands that have many tasks, or many samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.options_of import option
from netpact.core.checks import check_choice
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from netpact.runs import Engine


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    PANEL: ClassVar[str] = "Where it runs"

    jobs: int | None = option(None, "N", "Tasks at a time. Default: one for each processor.", least=1)
    engine: str = option(
        "processes", "NAME", "processes: on this machine; inline: one task after the other; ray: on a Ray cluster."
    )
    address: str = option(
        "", "HOST:PORT", "The head of the Ray cluster. Default: the cluster that this machine belongs to.", shown=False
    )

    def make_engine(self, threads: int) -> Engine:
        """threads: for each task; one by default, so that results do not depend on the number of jobs."""
        from netpact.runs import ENGINES

        made = ENGINES[check_choice(self.engine, ENGINES, where="--engine")]
        if self.address and self.engine != "ray":
            raise PactError(f"the engine {self.engine} has no address", where="--address", hint="--engine ray")
        return made(self.jobs or 0, threads or 1, self.address)


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """Who goes through the samples of one network."""

    PANEL: ClassVar[str] = EngineOptions.PANEL

    jobs: int | None = option(
        None,
        "N",
        "Workers that go through the samples, with one thread each, or --threads. Results do not depend on it.",
        least=1,
        shown="this process alone",
    )
    engine: str = option(
        "", "NAME", "processes: workers on this machine; ray: on the nodes of a Ray cluster.", shown=False
    )
    address: str = option(
        "", "HOST:PORT", "The head of the Ray cluster. Default: the cluster that this machine belongs to.", shown=False
    )
    resume: Path | None = option(
        None, "FOLDER", "For what is finished; after an interrupt the same command goes on from there."
    )

    def make_engine(self, threads: int) -> Engine | None:
        """threads: of each worker; None: this process, which starts at once."""
        if not self.address and (self.engine == "inline" or (not self.engine and self.jobs in (None, 1))):
            return None
        return EngineOptions(jobs=self.jobs, engine=self.engine or "processes", address=self.address).make_engine(
            threads
        )
