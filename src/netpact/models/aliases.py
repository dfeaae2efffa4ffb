"""The names that papers give their networks, read as names of ours: VGG-16 is vgg:16-64-1.

A helper's recipe may hold such a name, so what one means never changes.
"""

from __future__ import annotations

import re

from netpact.core.errors import PactError

ALIAS_HINT = (
    "papers' names are read too: lenet-5, lenet-300-100, alexnet, vgg-16, vgg-16-plain, resnet-110, preresnet-110, "
    "wrn-28-10, densenet-40-12, cp-vgg-16, cp-resnet-20, cp-wrn-28-10 (CP layers with as many weights), "
    "resnet-41-t4, resnext-41-t2, shufflenet-v2-50-t1, and resnet-110-folded for batch norm folded away"
)

_NUMBER = "([0-9]{1,4})"  # ASCII digits, and few of them
# {norm} is filled in below; the widths are those of the papers' networks for small images.
_SPELLINGS = (
    ("lenet-?5", "lenet5"),
    ("lenet-300-100", "mlp:300-100"),  # LeCun et al. 1998, two hidden layers and no convolution
    ("alexnet", "alexnet"),
    (f"vgg-?{_NUMBER}(?:-?bn)?", "vgg:{0}-64-{norm}"),
    (f"resnet-?{_NUMBER}", "resnet:{0}-16-{norm}"),
    (f"pre(?:act)?-?resnet-?{_NUMBER}", "preresnet:{0}-16-{norm}"),
    (f"(?:wrn|wide-?resnet)-?{_NUMBER}-{_NUMBER}", "wrn:{0}-{1}-{norm}"),
    # CP layers with as many weights as those in whose place they are (Li et al. 2020).
    (f"cp-?vgg-?{_NUMBER}(?:-?bn)?", "cp-vgg:{0}-64-100-{norm}"),
    (f"cp-?resnet-?{_NUMBER}", "cp-resnet:{0}-16-100-{norm}"),
    (f"cp-?(?:wrn|wide-?resnet)-?{_NUMBER}-{_NUMBER}", "cp-wrn:{0}-{1}-100-{norm}"),
    # Of "Rethinking compressed CNNs" 2021; the number after t is K / R.
    (f"resnet-?41-t-?{_NUMBER}", "bottleneck:41-64-{0}-1-{norm}"),
    (f"resnext-?41-t-?{_NUMBER}", "bottleneck:41-64-{0}-32-{norm}"),
    (f"shufflenet-?v2-50-t-?{_NUMBER}", "shufflenet:50-58-{0}-{norm}"),
    (f"densenet-?{_NUMBER}", "densenet:{0}-12-{norm}"),
    (f"densenet-?{_NUMBER}-{_NUMBER}", "densenet:{0}-{1}-{norm}"),
)

# Depths that our rule allows, but at which a paper's name without a width means a network of other blocks: for larger
# images, or with bottlenecks.
_OTHER_BLOCKS = {
    "resnet": ("50", "152"),
    "cp-resnet": ("50", "152"),
    "preresnet": ("50", "152", "164", "200"),
    "densenet": ("121", "169"),
}
_AS_TRAINED, _FOLDED = "1", "2"


def expand_alias(text: str) -> str | None:
    """The name of ours for a paper's name, whatever its case and with or without '-'; None where it is not one.

    Batch norm stands as it is trained; "-folded" at the end asks for it folded, which for VGG is "-plain" too.
    """
    spelled = text.lower().replace("_", "-")
    stem, norm = spelled, _AS_TRAINED
    for ending in ("-folded", "-plain"):
        if spelled.endswith(ending):
            stem, norm = spelled.removesuffix(ending), _FOLDED
    if spelled.endswith("-plain") and not stem.startswith(("vgg", "cp-vgg", "cpvgg")):
        return None  # a plain ResNet is one without shortcuts, which folding does not give
    for pattern, template in _SPELLINGS:
        found = re.fullmatch(pattern, stem)
        if found is None or (norm == _FOLDED and "{norm}" not in template):
            continue
        name = template.format(*found.groups(), norm=norm)
        _refuse_other_blocks(text, name.partition(":")[0], found.groups(), name)
        return name
    return None


def _refuse_other_blocks(text: str, family: str, numbers: tuple[str, ...], name: str) -> None:
    if len(numbers) == 1 and numbers[0] in _OTHER_BLOCKS.get(family, ()):
        raise PactError(
            f"{text} names a network with other blocks than {family} has here, which are those for small images",
            where="model",
            hint=f"write {name} if you mean these, or give the network as package.module:function",
        )
