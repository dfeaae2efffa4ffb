"""Table 2 and Figure 1b: bounds of a 5-layer MLP on CIFAR-10 (section 7, appendix F)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.guha.comparing import Seeded, bounds_table, gap
from netpact.papers.guha.presets import CIFAR, CIFAR_10
from netpact.papers.guha.published import BARTLETT_2017, NEYSHABUR_2015, NEYSHABUR_2017, OURS, TABLE_2
from netpact.papers.guha.study import DENSE, LISTED_MEASURED, MEASURED, PRINTED
from netpact.papers.guha.studying import PaperPlan


def _gap(above: str, below: str, one: Seeded) -> float:
    return gap(one[CIFAR], above, below)


def _show(found: Experiment) -> list[str]:
    columns = [(f"seed {one.seed}", one) for one in found.chosen(CIFAR)]
    printed = {name: [number] * len(columns) for name, number in TABLE_2.items()}
    return [bounds_table("Table 2", columns, printed)]


EXPERIMENTS.add(
    PaperPlan(
        name="guha-table2",
        title="Table 2 and Figure 1b: bounds of an MLP on CIFAR-10",
        presets=CIFAR_10,
        studies=(CIFAR,),
        questions=(
            *(
                Question(
                    f"Our bound is tighter than that of Bartlett et al. 2017 (F, Figure 1b): {words}",
                    "ln of Bartlett et al. minus ln of ours: > 0",
                    partial(_gap, BARTLETT_2017, name),
                    published=TABLE_2[BARTLETT_2017] - TABLE_2[OURS],
                )
                for name, words in (
                    (PRINTED, "Theorem 5.2 as printed"),
                    (MEASURED, "pruned on the samples"),
                    (DENSE, "dense weights times log^2 p"),
                )
            ),
            Question(
                "The bound of Bartlett et al. 2017 is the closest (7): below that of Neyshabur et al. 2017",
                "ln of Neyshabur et al. 2017 minus ln of Bartlett et al. 2017: > 0",
                partial(_gap, NEYSHABUR_2017, BARTLETT_2017),
                published=TABLE_2[NEYSHABUR_2017] - TABLE_2[BARTLETT_2017],
            ),
            Question(
                "and below that of Neyshabur et al. 2015 (Table 2)",
                "ln of Neyshabur et al. 2015 minus ln of Bartlett et al. 2017: > 0",
                partial(_gap, NEYSHABUR_2015, BARTLETT_2017),
                published=TABLE_2[NEYSHABUR_2015] - TABLE_2[BARTLETT_2017],
            ),
            Question(
                "Our bound vastly improves on a trivial application of compression bounds, Lemma D.1 (5.4): measured",
                "ln of Lemma D.1 minus ln of Theorem 5.2, both pruned on the samples: > 0",
                partial(_gap, LISTED_MEASURED, MEASURED),
            ),
        ),
        show=_show,
    )
)
