"""Files made to harm: each is refused with an error that says what is wrong and where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netpact.coding.format import Pact
from netpact.core.errors import PactError

FOLDER = Path(__file__).with_name("hostile")

# file: (why it is hostile, where the error points, what it says)
FILES = {
    "empty": ("nothing in it", "byte 0", "not a .pact file"),
    "only_magic": ("ends after the first word", "", "ends after 4 bytes"),
    "wrong_magic": ("begins with PAKT", "byte 0", "not a .pact file"),
    "future_container": ("container version 2", "byte 4", "container version 2"),
    "cut_off": ("its last nine bytes are missing", "byte 5", "announces 10 bytes"),
    "absurd_message_length": ("announces a message of 4 GB", "byte 5", "announces 4294967295 bytes"),
    "absurd_certificate_length": ("announces a certificate of 2 GB", "byte 19", "announces 2147483647 bytes"),
    "trailing_bytes": ("two bytes behind the certificate, checksum right", "byte 23", "2 bytes after"),
    "wrong_checksum": ("one bit of the checksum is wrong", "last 8 bytes", "checksum"),
    "certificate_not_json": ("a name without quotes", "certificate", "not JSON"),
    "certificate_not_text": ("bytes that are no UTF-8", "certificate", "not JSON"),
    "certificate_a_list": ("JSON, but a list", "certificate", "JSON object"),
    "certificate_deeply_nested": ("fifty thousand open brackets", "certificate", "JSON"),
    "certificate_nan": ("a bound that is not a number", "bound", "not a JSON number"),
    "certificate_negative_count": ("minus 43 errors", "errors", "-43"),
    "certificate_key_twice": ("a second, better number of errors", "certificate", "duplicate key"),
    "certificate_long_number": ("a number of errors with 5,000 digits", "", "JSON|whole number"),
    "message_empty": ("zeros without end decode to a network without input", "message, input_shape", "1 to 3"),
    "message_of_ones": ("bytes outside every interval of the coder", "message", "no message"),
    "future_decoder": ("decoder version 1000", "message", "decoder version 1000"),
    "higher_version_than_needed": ("says version 2, needs 1", "message", "not the message of the network"),
    "unknown_rewrite": ("rewrite 77", "message", "names rewrite 77"),
    "rewrite_of_no_layer": ("rewrites layer 99", "message, rewrite of layer 99: low-rank", "layers 0 to 11, got 99"),
    "rewrite_before_the_first_layer": ("rewrites layer -3", "message, rewrite of layer -3", "layers 0 to 9, got -3"),
    "rewrite_of_another_kind": ("two factors for a ReLU", "message, rewrite of layer 2", "the layer is ReLU"),
    "rank_too_large": ("a rank of 2^35", "message, rewrite of layer 1", "from 1 to 3, got 34359738368"),
    "norm_behind_nothing": ("folds into layer -2^20 + 1", "message, rewrite of layer 1: fold", "got -1048575"),
    "more_channels_than_before": ("2^35 filters of 3 stay", "message, rewrite of layer 1", "3 outputs and 2 inputs"),
    "cp_rank_too_large": (
        "components by the million",
        "message, rewrite of layer 1: cp",
        "from 1 to 6, got 34359738368",
    ),
    "cp_sides_that_do_not_fit": ("4 inputs as 3 rows", "message, rewrite of layer 9: cp", "a factor of 4, got 3"),
    "more_components_than_before": ("5 components of 2 stay", "message, rewrite of layer 1: cp", "from 1 to 2, got 5"),
    "tucker_rank_too_large": (
        "a core of 2^35 inputs",
        "message, rewrite of layer 1: tucker",
        "in_rank must be an integer",
    ),
    "version_2_says_more": (
        "a CP layer in a message of version 2",
        "message",
        "version 2, and uses what came with version 3",
    ),
    "rewrites_without_end": ("8,001 rewrites", "message", "steps of work"),
    "unknown_problem": ("problem 6 of 5", "message", "names problem 6"),
    "unknown_architecture": ("architecture 999", "message, architecture", "999 is not known; allowed: 1 "),
    "trillion_parameters": ("13 bytes that ask for 10^12 parameters", "message", "1,099,495,571,455 parameters"),
    "too_many_sizes": ("65 layer sizes", "message", "65 sizes, at most 64"),
    "image_side_too_long": ("an input of 2^40 numbers", r"message, input_shape\[0\]", "1 to 4,096"),
    "one_class": ("a classifier of one class", "message, classes", "from 2"),
    "number_without_end": ("a length in unary that does not stop", "message", "more than 40 bits"),
    "unknown_form": ("form 77", r"message, tensor fc1\.weight", "names form 77"),
    "scale_out_of_range": ("a step of 2^64", r"message, tensor fc1\.weight", "exponent 64"),
    "shift_out_of_range": (
        "noise whose mean is 4,096 times its spread",
        r"message, tensor fc1\.weight",
        "from -1,048,576",
    ),
    "no_sketch": ("a sketch that no sparse matrix has", r"message, tensor fc1\.weight, sketch", "in 200 rounds"),
    "place_beyond_the_plane": (
        "marks place 20,000 of 20,000, counted from 0",
        r"tensor fc1\.weight",
        "beyond the last",
    ),
    "more_marks_than_places": ("30,000 marks on 20,000 places", r"tensor fc1\.weight", "30,000 of 20,000"),
    "not_a_number": ("weights that are NaN", r"tensor fc1\.weight", "NaN"),
    "form_spelled_out_twice": ("a second byte string for a network", "message", "not the message of the network"),
    "message_with_trailing_zero": ("the decoder reads zeros there anyway", "message", "not the message of the network"),
    "message_with_trailing_byte": ("a longer number in the same interval", "message", "not the message of the network"),
}


def test_the_table_lists_every_file() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_hostile_files_are_refused(name: str) -> None:
    reason, where, what = FILES[name]
    with pytest.raises(PactError) as caught:
        Pact.read(FOLDER / f"{name}.pact").to_module()
    assert re.search(where, caught.value.where), reason
    assert re.search(what, caught.value.what), reason
