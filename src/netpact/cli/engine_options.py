"""Where the tasks of a command run: the options of all commands that have many."""

from __future__ import annotations

from dataclasses import dataclass
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
