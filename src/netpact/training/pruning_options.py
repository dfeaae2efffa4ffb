"""What decides iterative pruning, checked at construction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from netpact.core.checks import check_choice, check_flag, check_integer, check_number
from netpact.core.errors import PactError
from netpact.training.options import TrainOptions
from netpact.training.schedules import Rest

SCOPES = ("global", "layer")
REWINDS = ("weights", "rate", "none")
_MOST_ROUNDS = 1000


@dataclass(frozen=True, kw_only=True)
class IterativePruning:
    """Train, prune the smallest of the weights that are left, go back, and again. Give either keep or rounds.

    keep        the share of the weights that is left in the end; biases and norm layers are not counted
    rounds      prune so many times
    rate        share of what is left that a round prunes; the last round before `keep` prunes less
    scope       "global": all layers' weights are compared; "layer": each layer loses the same share
    rewind      where a round starts. "weights": weights and learning rate go back to epoch rewind_to (Frankle and
                Carbin 2019, Frankle et al. 2020). "rate": weights stay, the learning rate goes back (Renda et al.
                2020). "none": weights stay, the learning rate is constant, that of the last epoch's start (fine-tuning)
    rewind_to   epoch after which the weights are copied, 0 for the initial ones. A round trains the epochs after it
    spare_last  with scope "layer": the last layer is pruned at about half the rate, the others take over its share
    control     in each round, also train the same masks from new initial weights, for all epochs
    """

    keep: float | None = None
    rounds: int | None = None
    rate: float = 0.2
    scope: str = "global"
    rewind: str = "weights"
    rewind_to: int = 0
    spare_last: bool = False
    control: bool = False

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.rounds is None):
            raise PactError("give either keep or rounds", where="pruning", hint="keep=0.05, for example")
        check_number(self.rate, where="rate", above=0, below=1)
        if self.keep is not None:
            check_number(self.keep, where="keep", above=0, below=1)
        else:
            check_integer(self.rounds, where="rounds", least=1, most=_MOST_ROUNDS)
        check_choice(self.scope, SCOPES, where="scope")
        check_choice(self.rewind, REWINDS, where="rewind")
        check_integer(self.rewind_to, where="rewind_to", least=0)
        check_flag(self.control, where="control")
        if check_flag(self.spare_last, where="spare_last") and self.scope != "layer":
            raise PactError(
                "scope global compares all layers' weights, and spares no layer",
                where="spare_last",
                hint='scope="layer"',
            )
        if self.round_count > _MOST_ROUNDS:
            raise PactError(f"would take more than {_MOST_ROUNDS:,} rounds", where="rate", hint="choose a larger one")

    @property
    def round_count(self) -> int:
        """How many times is pruned: networks are trained once more than that."""
        if self.rounds is not None:
            return self.rounds
        assert self.keep is not None, "one of the two is given"
        # A power that only rounding keeps above `keep` is no round of its own.
        return max(1, math.ceil(math.log(self.keep) / math.log1p(-self.rate) - 1e-9))

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the weights that is left after each round of pruning: (1 - rate)^i, and keep in the end."""
        powers = [(1 - self.rate) ** number for number in range(1, self.round_count + 1)]
        return tuple(powers) if self.keep is None else (*powers[:-1], self.keep)

    def counts(self, sizes: Sequence[int], share: float) -> list[int]:
        """How many weights of each layer are left, or of all together with scope global: to the nearest integer.

        At least one stays in each layer.
        """
        if self.scope == "global":
            return [max(len(sizes), round(share * sum(sizes)))]
        if not self.spare_last or len(sizes) == 1:
            return [max(1, round(share * size)) for size in sizes]
        # (1 - rate)^(i/2) = share^(1/2), at half the rate in each round.
        last, others = math.sqrt(share) * sizes[-1], sum(sizes[:-1])
        if share * sum(sizes) - last < len(sizes) - 1:
            raise PactError(
                f"with {share:.3g} of the weights left, the last layer's would be all of them",
                where="spare_last",
                hint="keep more, or leave spare_last out",
            )
        rest = (share * sum(sizes) - last) / others
        return [*(max(1, round(rest * size)) for size in sizes[:-1]), max(1, round(last))]

    def options_of_round(self, number: int, options: TrainOptions) -> TrainOptions:
        """Round 0 is plain training; each later one has an order of samples of its own."""
        if not number:
            return options
        epochs, seed = options.epochs - self.rewind_to, options.seed.child("pruning round", number)
        if self.rewind == "none":
            last = options.learning_rate_at(options.epochs - 1, steps_per_epoch=1)
            return replace(options, epochs=epochs, seed=seed, learning_rate=last, schedule="constant")
        if not self.rewind_to:
            return replace(options, seed=seed)
        if isinstance(options.schedule, Rest):
            raise PactError("cannot go back within the rest of a schedule", where="rewind_to", hint="rewind_to=0")
        rest = Rest(schedule=options.schedule, finished=self.rewind_to, epochs=options.epochs)
        return replace(options, epochs=epochs, seed=seed, schedule=rest)

    def to_json(self) -> dict[str, object]:
        return asdict(self)
