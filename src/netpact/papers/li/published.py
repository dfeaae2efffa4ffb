"""Table 4 as the paper prints it: CP-VGG-16 on CIFAR-10, beside what it computed of Arora et al. 2018."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedLayer:
    """inputs, outputs: channels of a 3 x 3 convolution; ours: R^ (s + o + 9 + 1); arora: as Li et al. evaluated it."""

    inputs: int
    outputs: int
    ours: int
    arora: float

    @property
    def weights(self) -> int:
        return 9 * self.inputs * self.outputs

    @property
    def per_component(self) -> int:
        return self.inputs + self.outputs + 9 + 1

    @property
    def rank(self) -> int:
        return self.ours // self.per_component


TABLE_4 = (
    PublishedLayer(3, 64, 1694, 10728.622),
    PublishedLayer(64, 64, 36984, 63681.09),
    PublishedLayer(64, 128, 73932, 116967.945),
    PublishedLayer(128, 128, 147630, 910160.75),
    PublishedLayer(128, 256, 295106, 817337.9),
    PublishedLayer(256, 256, 590904, 3913927.2),
    PublishedLayer(256, 256, 590904, 15346982.0),
    PublishedLayer(256, 512, 1177892, 367775.12),
    PublishedLayer(512, 512, 2288242, 95893.41),
    PublishedLayer(512, 512, 1774344, 87476.836),
    PublishedLayer(512, 512, 350526, 42480.465),
    PublishedLayer(512, 512, 42394, 40184.535),
    PublishedLayer(512, 512, 124080, 137974.52),
)
