"""Compare tokenizers of OpenVINO Tokenizers, as the package and as irexec run them.

python benchmarks/tokenizer_texts.py [--record tests/data/tokenizers.zip]

Five small tokenizers are trained and converted, and run on 1,000 texts in many scripts, to tokens and back; and each
operator is called with random arguments. Needs `pip install openvino-tokenizers tokenizers transformers sentencepiece
regex`.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import tempfile
import unicodedata
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import tokenizer_calls
from openvino_tokenizers import convert_tokenizer
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import irexec
from irexec.ops.spec import contents

SENTENCES = """The quick brown fox jumps over the lazy dog. It's 42 degrees, isn't it? Don't!
Der Mann grüßt die Füchse; ärgerlich über Größe.
Les élèves étudient à l'école, où ça va très bien.
El niño comió piñata mañana; ¿qué pasa?
Мама мыла раму. Съешь же ещё этих мягких французских булок.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το σκυλί.
敏捷的棕色狐狸跳过懒狗。今天天气很好。
吾輩は猫である。名前はまだ無い。カタカナとひらがな。
다람쥐 헌 쳇바퀴에 타고파. 한국어 문장입니다.
الثعلب البني السريع يقفز فوق الكلب الكسول.
השועל החום המהיר קופץ מעל הכלב העצלן.
नमस्ते दुनिया। यह एक परीक्षा है।
สวัสดีชาวโลก นี่คือการทดสอบ
Xin chào thế giới. Tiếng Việt có dấu.
İstanbul'da çay içtik, ığdır.
def f(x): return x**2 + 3*x - 1  # comment
<html><body class="a">Text &amp; more</body></html>
🙂 👩‍👩‍👧 🇩🇪 ok 👍🏽!
①②③ ½ ﬁ ﬂ Ⅷ ² ™ １２３ ＡＢＣ
price: $12.50, 10,000.00€ £3 100%
გამარჯობა მსოფლიო բարև աշխարհ
ሰላም ልዑል ஹலோ உலகம் ഹലോ ലോകം""".splitlines()
SPECIAL = ["<|endoftext|>", "<s>", "</s>", "[CLS]", "[SEP]", "[MASK]", "<pad>", "<|im_start|>", "<|im_end|>", "<unk>"]
BETWEEN = [*[" "] * 4, "  ", "\n", "\t", "", "\xa0", "\u3000", "\r\n", "   \n", " \u200b", "\u0301", "."]
SCRIPTS = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x370), (0x370, 0x600), (0x600, 0x700), (0x900, 0xE00)]
SCRIPTS += [(0xE00, 0x1000), (0x10A0, 0x1200), (0x1E00, 0x2070), (0x2070, 0x2200), (0x3000, 0x3100), (0x4E00, 0x5000)]
SCRIPTS += [(0xAC00, 0xAD00), (0xFF00, 0xFFF0), (0x1F300, 0x1F650), (0x1D400, 0x1D500)]
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def texts(count: int) -> list[str]:
    """Return sentences, words with odd spaces between them, special tokens, and characters of three scripts each.

    No character is one that only newer versions of Unicode have, as the two sides' versions differ.
    """
    draw = random.Random(7)
    words = [word for line in SENTENCES for word in line.split()]
    found = ["", " ", "\n", "a", "  lead", "trail  ", "x" * 150, *SENTENCES]
    while len(found) < count:
        kind = draw.random()
        if kind < 0.55:
            made = "".join(draw.choice(words) + draw.choice(BETWEEN) for _ in range(draw.randint(1, 14)))
        elif kind < 0.7:
            made = " ".join(draw.choice(words + SPECIAL) for _ in range(draw.randint(1, 10)))
        else:
            scripts = [draw.choice(SCRIPTS) for _ in range(3)]
            chars = [chr(draw.randrange(*draw.choice(scripts))) for _ in range(draw.randint(1, 40))]
            made = "".join(char if draw.random() < 0.8 else " " for char in chars)
        found.append("".join(char for char in made if unicodedata.category(char) not in ("Cs", "Cn")))
    return found


def _trained(made: Tokenizer, trainer: Any, lines: list[str] | None = None, **named: Any) -> PreTrainedTokenizerFast:
    made.train_from_iterator((lines or SENTENCES) * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, clean_up_tokenization_spaces=False, **named)


def bpe() -> PreTrainedTokenizerFast:
    """Train a tokenizer like GPT-2's: bytes as characters, merged by pairs."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder, made.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
    special = ["<|endoftext|>", "<|pad|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    return _trained(made, trainer, eos_token=special[0], pad_token=special[1])


def bpe_by_pattern() -> PreTrainedTokenizerFast:
    """Train a tokenizer like Qwen's: NFC, split by a pattern, special tokens in the text."""
    made = Tokenizer(models.BPE(ignore_merges=True))
    made.normalizer, made.decoder = normalizers.NFC(), decoders.ByteLevel()
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    named = {"eos_token": special[1], "pad_token": special[2], "additional_special_tokens": special[:1]}
    return _trained(made, trainer, **named)


def bpe_with_bytes() -> PreTrainedTokenizerFast:
    """Train a tokenizer like Llama's: spaces as U+2581, and bytes for characters that are not in the vocabulary."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(steps)
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    begin = [("<s>", 1)]
    made.post_processor = processors.TemplateProcessing("<s> $A", pair="<s> $A <s> $B", special_tokens=begin)
    lines = [line.replace(" ", "▁") for line in SENTENCES]
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=special)
    return _trained(made, trainer, lines, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>")


def wordpiece() -> PreTrainedTokenizerFast:
    """Train a tokenizer like BERT's, without upper case."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair=pair, special_tokens=ends)
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "pad", "cls", "sep", "mask")}
    trainer = trainers.WordPieceTrainer(vocab_size=700, special_tokens=special)
    return _trained(made, trainer, model_max_length=64, **named)


def unigram() -> PreTrainedTokenizerFast:
    """Train a tokenizer like T5's: NFKC, spaces as U+2581, scores."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    end = [("</s>", 1)]
    made.post_processor = processors.TemplateProcessing("$A </s>", pair="$A </s> $B </s>", special_tokens=end)
    trainer = trainers.UnigramTrainer(vocab_size=500, special_tokens=special, unk_token="<unk>")
    return _trained(made, trainer, unk_token="<unk>", eos_token="</s>", pad_token="<pad>")


RECORDED = 400
KINDS: list[Callable[[], PreTrainedTokenizerFast]] = [bpe, bpe_by_pattern, bpe_with_bytes, wordpiece, unigram]


def rows(compiled: Any, given: list[str]) -> list[list[int]]:
    """Return the tokens of each text, without padding; the texts are passed in batches."""
    found: list[list[int]] = []
    for first in range(0, len(given), 50):
        result = compiled(given[first : first + 50])
        ids, mask = result["input_ids"], result["attention_mask"]
        found += [row[own.astype(bool)].tolist() for row, own in zip(ids, mask, strict=True)]
    return found


def decoded(compiled: Any, tokens: list[list[int]]) -> list[str]:
    return [str(compiled(np.array([row], np.int64))[0][0]) for row in tokens]


def converted(folder: Path) -> Iterator[str]:
    """Train and convert each tokenizer into a folder of its name; yield the names."""
    for kind in KINDS:
        tokenizer, detokenizer = convert_tokenizer(kind(), with_detokenizer=True)
        for name, model in (("tokenizer", tokenizer), ("detokenizer", detokenizer)):
            for text in list(model.get_rt_info()):
                model.set_rt_info("", [text])  # It contains the versions of installed packages.
            ov.save_model(model, folder / kind.__name__ / f"openvino_{name}.xml")
        yield kind.__name__


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--record", type=Path, help="write the tokenizers, texts, calls and results to this file")
    record = arguments.parse_args().record
    given = texts(1000)
    with tempfile.TemporaryDirectory() as place:
        folder, core = Path(place), ov.Core()
        results: dict[str, Any] = {"texts": given[:RECORDED]}
        for name in converted(folder):
            files = [folder / name / f"openvino_{part}.xml" for part in ("tokenizer", "detokenizer")]
            theirs, back = (core.compile_model(file, "CPU") for file in files)
            mine, mine_back = (irexec.compile_model(file) for file in files)
            tokens = rows(theirs, given)
            strings = decoded(back, tokens)
            results[name] = {"tokens": tokens[:RECORDED], "strings": strings[:RECORDED]}
            differ = sum(a != b for a, b in zip(rows(mine, given), tokens, strict=True))
            differ_back = sum(a != b for a, b in zip(decoded(mine_back, tokens), strings, strict=True))
            print(f"{name}: {len(given)} texts, {differ} differ; decoded, {differ_back} differ")
        arrays: dict[str, Any] = {}
        calls: list[dict[str, Any]] = []
        counts: Counter[str] = Counter()
        for call in tokenizer_calls.calls(given):
            operator = contents.find(call.type, "extension")
            assert operator is not None
            made = operator(
                *call.inputs, **{a.name: call.attributes.get(a.file_name, a.default) for a in operator.attributes}
            )
            made = made if isinstance(made, (list, tuple)) else [made]
            counts[call.type] += 1
            counts[f"{call.type} differs"] += not all(map(np.array_equal, made, call.results))
            for port, array in enumerate(call.inputs):
                arrays[f"{len(calls)}.in.{port}"] = array
            for port, array in enumerate(call.results):
                arrays[f"{len(calls)}.out.{port}"] = array
            attributes = {k: v for k, v in call.attributes.items() if v != np.inf}
            calls.append({"type": call.type, "attributes": attributes, "inputs": len(call.inputs)})
        print(", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if count))
        if record:
            kept = io.BytesIO()
            np.savez(kept, **arrays)
            with zipfile.ZipFile(record, "w", zipfile.ZIP_LZMA) as archive:
                for file in sorted(folder.rglob("*.*")):
                    archive.write(file, file.relative_to(folder))
                archive.writestr("results.json", json.dumps(results, ensure_ascii=False))
                archive.writestr("calls.json", json.dumps(calls))
                archive.writestr("calls.npz", kept.getvalue())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
