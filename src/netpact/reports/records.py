"""docs/records.md from records/index.json: every number comes from a file that can be verified."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.files import read_bytes
from netpact.core.json import check_fields, decode_json
from netpact.core.percent import percent, percent_up

KEYS = (
    "file",
    "setting",
    "data",
    "prior",
    "command",
    "bound",
    "message_bytes",
    "seed",
    "minutes",
    "errors",
    "samples",
    "test_error",
    "published",
    "source",
)
# What a verifier needs beside file and data, each a file in records/ but for package, which names a base that others
# publish, and unlabelled, which names a data set whose test images serve; then what is stated beside the bound. With
# original, the bound is the original network's.
PRIORS = ("base", "package", "original", "unlabelled", "hold_out", "disagreement_bound")
# The user's module, package.module:function below records/; the preset of a search on data that it was not made for.
# The bounds of the same command with other seeds, and these, if they are not 1, 2, ...; the day on which a later file
# became the record.
OPTIONAL = (*PRIORS, "model", "untuned", "picked", "runs", "seeds", "former")

_HEAD = """# Records

Certified bounds on the test error of the files in `records/`: delta = 0.05, full training sets, real bytes.
Each row holds separately with probability 95 %. Check a file with `netpact verify records/FILE --data NAME`.

A certificate assumes that its decoder was fixed before the sample was drawn. What the fixed stems were chosen on:

- *MNIST*: the stem of Sobel edges, on digits drawn by fonts; its filter and its fourth roots, which this row does not
  use, on Fashion-MNIST's test images. It was finished before it met a training image of either.
- *Fashion-MNIST*: the same stem. Its test images chose the filter, so this row's test error is biased.
- *CIFAR-10*: the stem of contours, by about 150 short trials on CIFAR-10's test images, so this row's test error is
  biased too. Square root, inhibition, opponent colours and mirror image it took from an older stem, which has them from
  training sets; asked again, the test images alone ask for each of the four. 3.3 % of these test images are near copies
  of training images (Barz and Denzler 2020).

[search.md](search.md) has the tables, `records/stem_choice.py` makes them. What no table can undo: the variants were
listed by someone who knew what older stems had found on these training sets, among it that edges in cells, square
roots, inhibition and straightening serve them. Charging each stem's source as well, 3,369 and 4,387 bytes without
comments by zlib, would give about 31.7 %, 49.1 % and 79.1 % for the three rows (`records/stem_price.py`). *Learned
features only* means no stem: every weight is in the message, and so is the symmetry of its layers. [What was chosen
when](#what-was-chosen-when) stands below.

Bounds by sample compression, which pay for samples and not for a message, have [a table of their
own](#sample-compression).

This page is made from `records/index.json` by `make records-page`.

| setting | bound | published | bytes | train error | test error | minutes | file |
|---|---|---|---|---|---|---|---|
"""

_RUNS = """
## Other seeds

What the command of a row gives with the random numbers of other seeds, `--seed N`. The file is of the best one: its
message pays for that choice too.

| setting | median | best | seeds | all |
|---|---|---|---|---|
"""

_FORMER = """
## Former records

Files that were the record until the day beside them. They stay, and verify as before.

| setting | bound | published | bytes | train error | test error | minutes | file | until |
|---|---|---|---|---|---|---|---|---|
"""

_UNTUNED = """
## The same searches on other data

Presets and stem were not tuned on these. That does not make them data that nobody has seen: MNIST with permuted
pixels or classes has the samples of MNIST, on which stem and preset were chosen; and digits have a preset of their
own, made by looking at them. With its pixels permuted MNIST has no edges left, and what is resized by its moments is
mixed up: the preset before, with oriented edges, did better. With its classes numbered otherwise nothing should change,
and digits are 8 x 8 pixels. `netpact verify records/FILE --data NAME` checks these too.

| preset and data | bound | published | bytes | train error | test error | minutes | file |
|---|---|---|---|---|---|---|---|
"""

_PICKED = """
## Sample compression

A recipe of a few bytes makes the classifier from the training samples that it picks; the bound pays for how many
they are ([sample-compression.md](sample-compression.md)). What is in the file is the recipe, so `netpact verify` picks
again. The learner was made by looking at digits and MNIST, so it is not older than these samples, and no recipe pays
for that. That Sobel edges serve it, alone and from a base's logits, was tried on MNIST's test images, so test errors
and hold-out bounds of those rows are biased; and that picks by hash serve where picks by the lowest margin do not end
was seen on Fashion-MNIST's training images. A row that needs a base rests on that network from other data too, and is
checked with `--base records/BASE`: [priors.md](priors.md) says what that assumes.

| setting | bound | published | recipe, bytes | picked | wrong of the others | test error | minutes | file | needs |
|---|---|---|---|---|---|---|---|---|---|
"""

_FOR_THE_RECORD = """
## For the record: bounds that rest on more than file and data

These rest on a base network from other data, on a helper network trained on a part of the sample, or on fresh
unlabelled images; [priors.md](priors.md) says what each assumes. They are not to be compared with the rows above.

Check a file with `netpact verify records/FILE --data mnist --base records/BASE`. For a row about an original network,
give `--original records/WEIGHTS --unlabelled IMAGES.npz` as well, and as `--data` an .npz file with the training
samples alone. A row with a module is checked in the folder `records`, with `--model MODULE`, and with the base from the
package that it names. For CIFAR-10, input size and what the head reads were chosen on the test images, so the test
error is biased; whether ImageNet holds images of CIFAR-10 was not examined: that the base has not seen them is
declared.

`pen_base.pact` was trained on digits drawn from fonts (`records/pen_digits.py`). How they are drawn, architectures and
training were judged on scikit-learn's digits and on fonts left out: thirteen short runs, then two bases of different
architectures, before MNIST was looked at with either. The message says which architecture it is, so that choice is
paid for. What is free is what everyone knows: how MNIST's images were prepared, and what handwritten digits look like.

The LeNet-5 that is called *warm-started* is the helper, trained further on all training samples: the two rarely
disagree because one began as the other. Its helper's recipe is the second that was certified on this split; it was
written down after the first one's bound was known, and no message pays for that.

- *Hold-out*: the bound that the helper has without any message, at the same delta. Where it is lower than the bound
  beside it, the certificate does not beat it.
- *Disagreement*: in rows about an original network, the part of the bound that comes from how often it and the network
  in the file disagree. The test images are the unlabelled sample there, their labels unused: the data have no test part
  left, so no test error is stated, and it is declared that these images guided no choice.

| setting | bound | published | hold-out | disagreement | bytes | errors | test error | minutes | file | needs |
|---|---|---|---|---|---|---|---|---|---|---|
"""


_WHEN = """
## What was chosen when

- *Before the first records* (MNIST 5.5 %, Fashion-MNIST 21.2 %, CIFAR-10 59.8 %), by looking at the training sets of
  these three: filters, square root and straightening of the stem of oriented edges. No message pays for that.
- *After those were known*: the mirror view of the stem and the form `ternary-map`. Decoder version 1 grew by them,
  and no message pays for that either. The former rows of CIFAR-10 with a stem use the mirror view, and all rows but
  `mnist-learned-convnet.pact` and those with a data-dependent network use `ternary-map` or its successor.
- *During a search*: architecture, sizes and view of the stem, forms, scales, weights. All of it is in the message.
- *By looking at the bounds of earlier searches*: the presets. Whatever a search does, the length of its result pays
  for it.
- *After the former records were known*: the form `ternary-template`, decoder version 5. That the upper left neighbour
  and the input are worth a context was seen on the signs of those records ([search.md](search.md) has the numbers), so
  the form is not older than these samples. Which of its contexts a file uses is in its message. Constants of training
  and annealing were chosen by short trials on the three training sets; they are in no decoder, and the length of the
  message pays for whatever they lead to.
- *After CIFAR-10 at 54.06 %*: the stem of contours, decoder version 6, on CIFAR-10's test images. The first search with
  it on the training images was run when it was finished; which of its waves are kept (4 x 2; 4 x 3 and 5 x 2 were
  searched too, and gave higher bounds when they were stopped) is in the message.
- *After 8.74, 24.89 and 67.94 % for the three without a stem*: the form `symmetric` and the family `lnconv`, decoder
  version 7. Some twenty short trainings on CIFAR-10's test images and three long ones on its training images
  were looked at meanwhile, for norms, pooling, widths, price and learning rate; so the test error of that row is
  biased. Layers and symmetry of a network are in its message; that there are such layers and symmetries to choose from
  is not older than these samples, though older than netpact (Ba et al. 2016; Cohen and Welling 2016).
- *After 4.81 and 19.22 % for MNIST and Fashion-MNIST*: the stem of Sobel edges, decoder version 8, on digits drawn by
  fonts and on Fashion-MNIST's test images. Orientations, inhibition, cells, roots and view are in the message; some
  twenty short searches on Fashion-MNIST's training images chose them there, none on MNIST's. That a bit should cost
  half in rounds was seen on both training sets and on fonts' digits; it is in no decoder.
- *After 46.52 % for CIFAR-10*: 30 rounds of its search in place of 10, at half the price of a bit; in no decoder. The
  same price took CIFAR-10 and MNIST without a stem from 52.49 and 6.44 % to what they are.
- *Afterwards*: the forms `projection` and `low-rank`, and the families from alexnet to shufflenet. No row uses them.
- delta = 0.05 and the exact form of the bound have been the defaults throughout.

Each new form, family or view raises the decoder version that a certificate names (`coding/format/versions.py`).
"""


_MADE = """
Made by the commands below, on two CPU cores that other work shared: a seed of CIFAR-10 without a stem that had a whole
core took 13 minutes, the one in the table 22. Fashion-MNIST with *learned features only* was made before rounds of a
search paid half for a bit (2026-11-19): its command would give another file now.

"""


def read_index(folder: str | Path) -> list[dict[str, object]]:
    """The entries of records/index.json; a missing or unknown key is named."""
    path = Path(folder) / "index.json"
    entries = check_instance(decode_json(read_bytes(path), where=str(path)), list, where=str(path))
    return [
        dict(check_fields(entry, KEYS, where=f"{path}, entry {number}", optional=OPTIONAL))
        for number, entry in enumerate(entries, start=1)
    ]


def is_for_the_record(entry: dict[str, object]) -> bool:
    """Whether the bound rests on more than the file and its data."""
    return any(key in entry for key in PRIORS)


def render_records(entries: list[dict[str, object]]) -> str:
    former = [entry for entry in entries if "former" in entry]
    picked = [entry for entry in entries if "picked" in entry and entry not in former]
    others = [entry for entry in entries if is_for_the_record(entry) and entry not in (*picked, *former)]
    untuned = [entry for entry in entries if "untuned" in entry]
    plain = [entry for entry in entries if entry not in (*others, *untuned, *picked, *former)]
    text = _HEAD + "".join(_row(_plain_cells(entry)) for entry in plain)
    if repeated := [entry for entry in (*plain, *untuned) if "runs" in entry]:
        text += _RUNS + "".join(_row(_run_cells(entry)) for entry in repeated)
    if former:
        text += _FORMER + "".join(_row((*_plain_cells(entry), entry["former"])) for entry in former)
    if untuned:
        text += _UNTUNED + "".join(_row(_plain_cells(entry)) for entry in untuned)
    if picked:
        text += _PICKED + "".join(_row(_picked_cells(entry)) for entry in picked)
    if others:
        text += _FOR_THE_RECORD + "".join(_row(_other_cells(entry)) for entry in others)
    text += _WHEN
    commands = "".join(
        f"- {entry['setting']}: `{entry['command']}`\n" for entry in [*plain, *untuned, *picked, *others]
    )
    return f"{text}{_MADE}{commands}"


def _plain_cells(entry: dict[str, object]) -> tuple[object, ...]:
    return (
        entry["setting"],
        f"**{_bound(entry, 'bound')}**",
        _published(entry),
        entry["message_bytes"],
        percent(_number(entry, "errors") / _number(entry, "samples")),
        percent(_number(entry, "test_error")),
        entry["minutes"],
        f"`{entry['file']}`",
    )


def _run_cells(entry: dict[str, object]) -> tuple[object, ...]:
    bounds = list(runs_by_seed(entry).values())
    told = ", ".join(percent_up(bound, places=2) for bound in bounds)
    seeds = ", ".join(map(str, runs_by_seed(entry)))
    return entry["setting"], percent_up(median(bounds), places=2), percent_up(min(bounds), places=2), seeds, told


def runs_by_seed(entry: dict[str, object]) -> dict[int, float]:
    """The bounds that the entry's command gave, by its seed."""
    bounds = [float(one) for one in check_instance(entry["runs"], list, where=f"{entry['file']}, runs")]
    seeds = check_instance(entry.get("seeds", [*range(1, 1 + len(bounds))]), list, where=f"{entry['file']}, seeds")
    if len(set(seeds)) != len(bounds):
        raise PactError(f"{len(bounds)} runs and seeds {seeds}: one seed for each", where=f"{entry['file']}, seeds")
    return dict(zip(seeds, bounds, strict=True))


def _picked_cells(entry: dict[str, object]) -> tuple[object, ...]:
    return (
        entry["setting"],
        f"**{_bound(entry, 'bound')}**",
        _published(entry),
        entry["message_bytes"],
        f"{entry['picked']:,} of {entry['samples']:,}",
        f"{entry['errors']:,}",
        percent(_number(entry, "test_error")),
        entry["minutes"],
        f"`{entry['file']}`",
        f"`{entry['base']}`" if "base" in entry else "-",
    )


def _other_cells(entry: dict[str, object]) -> tuple[object, ...]:
    needs = [f"`{entry[key]}`" for key in ("base", "package", "model", "original") if key in entry]
    return (
        entry["setting"],
        f"**{_bound(entry, 'bound')}**",
        _published(entry),
        _bound(entry, "hold_out") if "hold_out" in entry else "-",
        _bound(entry, "disagreement_bound") if "disagreement_bound" in entry else "-",
        entry["message_bytes"],
        percent(_number(entry, "errors") / _number(entry, "samples")),
        "-" if entry["test_error"] is None else percent(_number(entry, "test_error")),
        entry["minutes"],
        f"`{entry['file']}`",
        ", ".join(needs + ([f"{entry['unlabelled']} test images"] if "unlabelled" in entry else [])),
    )


def _bound(entry: dict[str, object], key: str) -> str:
    return percent_up(_number(entry, key), places=2)


def _published(entry: dict[str, object]) -> str:
    return f"{entry['published']} ({entry['source']})" if entry["published"] else "none known"


def _row(cells: tuple[object, ...]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"


def _number(entry: dict[str, object], key: str) -> float:
    value = entry[key]
    if not isinstance(value, (int, float)):
        raise PactError(f"a number is needed, got {value!r}", where=f"{entry['file']}, {key}")
    return float(value)
