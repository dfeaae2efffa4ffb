"""Table 5: small components of a CP network are cut off, and nothing is trained again (section 5.3, appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from netpact.core.percent import percent, percent_up
from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.li.comparing import Seeded
from netpact.papers.li.presets import CP_VGG
from netpact.papers.li.pruning import Pruned
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan
from netpact.reports.frame import frame_table
from netpact.reports.text import count

_POINTS, _LOST = 100, 0.5  # points of test accuracy that may be lost
# As printed, of CP-WRN-28-10 on CIFAR-10: threshold, millions of parameters, test accuracy in percent.
_PRINTED = ((0.0, 36.5, 95.09), (1e-4, 8.36, 95.08), (1e-3, 6.90, 95.05), (1e-2, 4.52, 94.53))


def _smaller(rows: Sequence[Pruned]) -> float:
    """How many times fewer parameters, at the threshold that cuts off most for at most half a point."""
    whole = rows[0]
    allowed = [row for row in rows if _POINTS * (whole.accuracy - row.accuracy) <= _LOST]
    return whole.parameters / min(row.parameters for row in allowed)


def _factor(one: Seeded) -> float:
    return _smaller(one[CP_VGG].pruned)


def _lost(threshold: float, one: Seeded) -> float:
    rows = one[CP_VGG].pruned
    found = next(row for row in rows if row.threshold == threshold)
    return _POINTS * (rows[0].accuracy - found.accuracy)


def _show(found: Experiment) -> list[str]:
    studies: tuple[TensorStudy, ...] = found.chosen(CP_VGG)
    return [*map(_table, studies), *map(_ranks_table, studies[:1]), _published_table()]


def _table(study: TensorStudy) -> str:
    rows = [
        (
            f"{row.threshold:g}",
            count(row.parameters),
            f"{study.pruned[0].parameters / row.parameters:.2f} ×",
            percent(row.accuracy, places=2),
            count(row.message_bytes),
            percent(row.sealed_accuracy, places=2),
            percent_up(row.bound),
        )
        for row in study.pruned
    ]
    heads = ("threshold", "parameters", "fewer", "accuracy", "file, bytes", "its accuracy", "its bound")
    return frame_table(f"{study.model}, seed {study.seed}; the file has 8 bits for each weight", heads, rows)


def _ranks_table(study: TensorStudy) -> str:
    rows = [(f"{row.threshold:g}", ", ".join(map(str, row.kept))) for row in study.pruned]
    return frame_table(f"Components of each layer, seed {study.seed}", ("threshold", "components"), rows)


def _published_table() -> str:
    rows = [(f"{threshold:g}", f"{size:g}", f"{accuracy:.2f} %") for threshold, size, accuracy in _PRINTED]
    return frame_table(
        "As published: CP-WRN-28-10 on CIFAR-10", ("threshold", "million parameters", "test accuracy"), rows
    )


_ROWS = [Pruned(cut, round(1e6 * size), right / _POINTS, (), 0, 1.0, right / _POINTS) for cut, size, right in _PRINTED]

EXPERIMENTS.add(
    PaperPlan(
        name="li-table5",
        title="Table 5: components below a threshold are cut off, without fine-tuning",
        studies=(CP_VGG,),
        questions=(
            Question(
                "A CP network loses most of its parameters and keeps its accuracy without fine-tuning (5.3, Table 5)",
                f"times fewer parameters, at most over the thresholds that lose at most {_LOST:g} points: >= 4",
                _factor,
                published=_smaller(_ROWS),
            ),
            Question(
                "A threshold of 1e-3 costs next to nothing (Table 5)",
                "points of test accuracy lost at 1e-3: <= 0.2",
                partial(_lost, 1e-3),
                published=_POINTS * (_ROWS[0].accuracy - _ROWS[2].accuracy),
            ),
        ),
        show=_show,
    )
)
