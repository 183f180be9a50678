"""Continue a text with a language model in a folder that optimum-intel exported, without OpenVINO or transformers.

python samples/text_to_text/generate.py FOLDER TEXT

The folder `model` was written by `optimum-cli export openvino --task text-generation-with-past` from a model with one
layer, trained on six sentences. In each step the token with the highest score is chosen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import irexec


def tokens(folder: Path, text: str) -> Iterator[int]:
    """Yield the tokens of a text, and the tokens with which the model continues it."""
    options = json.loads((folder / "generation_config.json").read_text())
    ends = options["eos_token_id"]
    ends = {ends} if isinstance(ends, int) else set(ends)
    tokenizer = irexec.compile_model(folder / "openvino_tokenizer.xml")
    request = irexec.compile_model(folder / "openvino_model.xml").create_infer_request()
    names = {name for port in request.model_inputs for name in port.get_names()}
    ids = tokenizer([text])["input_ids"]
    yield from ids[0].tolist()
    length = 0
    for _ in range(options.get("max_new_tokens", 100)):
        first, length = length, length + ids.shape[1]
        given = {
            "input_ids": ids,
            "attention_mask": np.ones((1, length), np.int64),
            "position_ids": np.arange(first, length)[None],
            "beam_idx": np.zeros(1, np.int32),
        }
        # The request keeps the keys and values of all previous tokens.
        logits = request.infer({name: array for name, array in given.items() if name in names})["logits"]
        token = int(logits[0, -1].argmax())
        if token in ends:
            return
        yield token
        ids = np.array([[token]])


def main() -> None:
    folder = Path(sys.argv[1])
    detokenizer = irexec.compile_model(folder / "openvino_detokenizer.xml")
    print(detokenizer(np.array([list(tokens(folder, sys.argv[2]))]))["string_output"][0])


if __name__ == "__main__":
    main()
