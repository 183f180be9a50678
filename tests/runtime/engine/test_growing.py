"""States that grow in place: the results are those of the kernels, whatever happens to the states in between."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.benchmark import benchmark

import irexec
from irexec import Model
from irexec.runtime.engine import growing

ops: Any = irexec.opset15
HEADS, WIDTH = 2, 4


def attending(*, shown: bool = False) -> Model:
    """Return attention with cached keys and values, in the layers that optimum-intel writes. `shown`: the cache is a
    result too.
    """
    x, mask = ops.parameter([-1, HEADS, -1, WIDTH], np.float32, name="x"), ops.parameter([-1, -1], bool, name="mask")
    beam = ops.parameter([-1], np.int32, name="beam_idx")
    batch = ops.gather(ops.shape_of(x), np.int64([0]), np.int64(0))
    caches, sinks = [], []
    for name, factor in (("key", 0.5), ("value", 2)):
        start = ops.broadcast(np.float32(0), ops.concat([batch, np.int64([HEADS, 0, WIDTH])], 0))
        read = ops.read_value(start, name, "f32", [-1, HEADS, -1, WIDTH])
        new = ops.multiply(x, np.float32(factor))
        caches.append(ops.concat([ops.gather(read, beam, np.int64(0)), new], 2))
        sinks.append(ops.assign(caches[-1], name))
    allowed = ops.unsqueeze(mask, np.int64([1, 2]))
    attention = ops.scaled_dot_product_attention(x, *caches, allowed, causal=False)
    return Model([attention, *caches[:shown]], [x, mask, beam], "attending", sinks=sinks)


class Talk:
    """A request of the model, and the length of its cache."""

    def __init__(self, compiled: Any, batch: int) -> None:
        self.request, self.batch, self.length = compiled.create_infer_request(), batch, 0

    def say(self, tokens: int, beams: list[int] | None = None, *, surplus: int = 0) -> Any:
        """Return the result for new tokens. `surplus`: the mask is longer than the cache."""
        self.length += tokens
        x = np.random.default_rng(self.length).standard_normal((self.batch, HEADS, tokens, WIDTH), np.float32)
        mask = np.ones((self.batch, self.length + surplus), bool)
        mask[-1, : self.length // 3] = False
        beam = np.array(range(self.batch) if beams is None else beams, np.int32)
        return self.request.infer({"x": x, "mask": mask, "beam_idx": beam})[0]

    def states(self) -> list[Any]:
        return [np.array(state.state.data) for state in self.request.query_state()]

    def set(self, values: list[Any]) -> None:
        for state, value in zip(self.request.query_state(), values, strict=True):
            state.state = irexec.Tensor(value)
        self.length = values[0].shape[2]


def by_copies(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the model compiled without buffers that grow."""
    with monkeypatch.context() as patched:
        patched.setattr(growing, "growing", lambda *_: {})
        return irexec.compile_model(attending(), config={"EXECUTION_MODE_HINT": "ACCURACY"})


def _talked(talk: Talk, seed: int) -> list[Any]:
    """Return results and states of random tokens, beams, settings and resets."""
    random, found, kept = np.random.default_rng(seed), [], None
    for _ in range(60):
        action = random.choice(["token"] * 8 + ["prompt", "beams", "reset", "cut", "keep", "back", "fail"])
        if action == "prompt":
            found.append(talk.say(int(random.integers(2, 9))))
        elif action == "beams":
            found.append(talk.say(1, random.integers(0, talk.batch, talk.batch).tolist()))
        elif action == "reset":
            talk.request.reset_state()
            talk.length = 0
        elif action == "cut" and talk.length > 2:
            talk.set([value[:, :, : talk.length // 2].copy() for value in talk.states()])
        elif action == "keep" and talk.length:
            kept = talk.states()
        elif action == "back" and kept is not None:
            talk.set(kept)
        elif action == "fail":
            with pytest.raises(irexec.IRError):
                talk.say(1, surplus=2)
            talk.length -= 1
        else:
            found.append(talk.say(1))
        if talk.length:
            found += talk.states()
    return found


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_any_history_gives_the_bits_of_the_kernels(batch: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copying = by_copies(monkeypatch)
    compiled = irexec.compile_model(attending(), config={"EXECUTION_MODE_HINT": "ACCURACY"})
    for one, other in zip(_talked(Talk(compiled, batch), seed), _talked(Talk(copying, batch), seed), strict=True):
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def test_the_buffer_grows_in_few_steps_and_kept_states_do_not_change() -> None:
    talk = Talk(irexec.compile_model(attending()), 1)
    memories, kept = set(), []
    for _ in range(200):
        talk.say(1)
        (value,) = {id(s.state.data.base): s.state.data for s in talk.request.query_state()[:1]}.values()
        memories.add(value.__array_interface__["data"][0])
        kept.append((value, value.copy()))
    assert len(memories) < 15
    assert all(np.array_equal(value, copy) for value, copy in kept)


def test_beams_alternate_between_two_buffers_and_kept_states_do_not_change() -> None:
    talk, random = Talk(irexec.compile_model(attending()), 3), np.random.default_rng(0)
    talk.say(4)
    memories, kept = set(), []
    for number in range(60):
        talk.say(1, random.integers(0, 3, 3).tolist())
        value = talk.request.query_state()[0].state.data
        if number % 6 == 0:
            kept.append((value, value.copy()))
        elif number > 40:
            memories.add(value.__array_interface__["data"][0])
        del value
    assert all(np.array_equal(value, copy) for value, copy in kept)
    assert len(memories) < 12


def test_an_error_names_the_layer_and_leaves_the_cache() -> None:
    talk, other = (Talk(irexec.compile_model(attending()), 2) for _ in range(2))
    for _ in range(5):
        np.testing.assert_array_equal(talk.say(2), other.say(2))
    with pytest.raises(irexec.IRError, match=r"tensors\[1\] has shape \[2,2,1,4\]") as caught:
        talk.say(1, [1])
    assert "Concat" in str(caught.value.report)
    talk.length -= 1
    np.testing.assert_array_equal(talk.say(1), other.say(1))


def test_requests_do_not_share_their_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, copying = irexec.compile_model(attending()), by_copies(monkeypatch)
    own, others = ([Talk(model, 1), Talk(model, 1)] for model in (compiled, copying))
    for number in range(30):
        for talk, other in zip(own, others, strict=True):
            np.testing.assert_array_equal(talk.say(1 + number % 2), other.say(1 + number % 2))


def test_a_result_that_is_the_cache_is_the_callers_own() -> None:
    talk = Talk(irexec.compile_model(attending(shown=True)), 1)
    talk.say(4)
    for _ in range(4):
        talk.say(1)
        talk.request.results[1][...] = np.nan
    assert not np.isnan(talk.say(1)).any()


def test_many_tokens_agree_with_openvino(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    path = tmp_path / "attending.xml"
    irexec.save_model(attending(), path, compress_to_fp16=False)
    settings = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    theirs = Talk(ov.Core().compile_model(path, "CPU", settings), 2)
    mine = Talk(irexec.compile_model(path, config={"EXECUTION_MODE_HINT": "PERFORMANCE"}), 2)
    for number in range(220):
        beams = [1, 0] if number % 50 == 7 else [0, 0] if number % 50 == 33 else None
        if number == 110:
            for talk in (mine, theirs):
                talk.request.reset_state()
                talk.length = 0
        one, other = (talk.say(9 if number % 110 == 0 else 1, beams) for talk in (mine, theirs))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


class Decoding:
    """A request of a small decoder, as optimum-intel exports it, and the length of its cache."""

    def __init__(self, compiled: Any) -> None:
        self.request, self.length = compiled.create_infer_request(), 0

    def say(self, ids: np.ndarray, beams: list[int]) -> Any:
        """Return the logits of the last token of each beam."""
        batch, tokens = ids.shape
        self.length += tokens
        inputs = {"input_ids": ids, "attention_mask": np.ones((batch, self.length), np.int64)}
        inputs["position_ids"] = np.tile(np.arange(self.length - tokens, self.length), (batch, 1))
        return self.request.infer({**inputs, "beam_idx": np.array(beams, np.int32)})[0][:, -1]

    def reset(self) -> None:
        self.request.reset_state()
        self.length = 0


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    llm, path = benchmark("llm"), tmp_path_factory.mktemp("decoder") / "llm.xml"
    irexec.save_model(llm.Decoder("f16", (128, 2, 256, 512), 128).model(), path, compress_to_fp16=False)
    return path


def test_a_language_model_has_no_plan_for_a_length_and_the_tokens_of_openvino(decoder: Path) -> None:
    ov = pytest.importorskip("openvino")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    compiled = irexec.compile_model(decoder, config={"EXECUTION_MODE_HINT": "PERFORMANCE"})
    models = compiled, ov.Core().compile_model(decoder, "CPU", settings)
    # Two requests of one text each, and one of two beams.
    talks = [(1, [Decoding(model) for model in models]) for _ in range(2)] + [(2, [Decoding(m) for m in models])]
    random, count, early = np.random.default_rng(0), amount(2000, 220), set[Any]()
    ids = [np.arange(12 * batch).reshape(batch, 12) * (7 + number) % 512 for number, (batch, _) in enumerate(talks)]
    for step in range(count):
        for number, (batch, sides) in enumerate(talks):
            if number == 1 and step == count // 2:
                ids[number] = random.integers(0, 512, (1, 20))
                for side in sides:
                    side.reset()
            beams = random.integers(0, batch, batch).tolist() if sides[0].length else [*range(batch)]
            one, other = (side.say(ids[number], beams) for side in sides)
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
            np.testing.assert_array_equal(one.argmax(axis=-1), other.argmax(axis=-1))
            ids[number] = one.argmax(axis=-1).reshape(batch, 1)
            if step < 20:
                early.update(sides[0].request._runner._runners)
    late = {plan for _, (mine, _) in talks for plan in mine.request._runner._runners} - early
    assert len(late) <= 1, "at most that of prompts of any length"


def test_memory_grows_with_the_cache_alone(decoder: Path) -> None:
    talk = Decoding(irexec.compile_model(decoder, config={"EXECUTION_MODE_HINT": "PERFORMANCE"}))

    def without_caches() -> int:
        gc.collect()  # Python keeps the memory of freed tuples until then.
        buffers = talk.request._runner._variables.buffers.values()
        return tracemalloc.get_traced_memory()[0] - sum(buffer._memory.nbytes for buffer in buffers)

    talk.say(np.arange(30)[None], [0])
    tracemalloc.start()
    try:
        early = 0
        for number in range(amount(2000, 300)):
            talk.say(np.full((1, 1), number % 512), [0])
            early = without_caches() if number == 100 else early
        late = without_caches()
    finally:
        tracemalloc.stop()
    assert late - early < 50_000
