"""Token, step and trajectory scores of real lab rollouts, and of numbers that are worked out."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from lib.advantage import (
    BASELINES,
    MissingReference,
    Scored,
    Steps,
    at_random,
    oracle,
    read_stored,
    score_steps,
    score_trajectory,
    step_values,
    token_scores,
    trajectory_values,
)
from lib.advantage.store import trajectory_table
from lib.generation.logprobs import Reading, score_tokens
from tests import tiny


@pytest.fixture(scope="module")
def steps(rollouts, tokenizer):
    return [read_stored(one, tokenizer, context=256) for one in rollouts]


@pytest.fixture(scope="module")
def scored(policy, reference, steps):
    return token_scores(policy, reference, steps)


def worked(counts, policy, reference=None, top=None, steps=None, missing=None):
    """Scored of numbers; all steps are of one trajectory unless `steps` says otherwise."""
    steps = [len(counts)] if steps is None else steps
    policy = np.array(policy, dtype=float)
    return Scored(
        keys=tuple(("b", "p", "a", "t", number) for number in range(len(steps))),
        passed=(True,) * len(steps),
        steps=np.array(steps),
        messages=np.arange(len(counts)),
        missing=np.array(missing or [""] * len(counts)),
        counts=np.array(counts),
        tokens=np.zeros(len(policy), int),
        policy=policy,
        policy_top=np.array(policy if top is None else top, dtype=float),
        reference=np.array(np.zeros(len(policy)) if reference is None else reference, dtype=float),
    )


# ---------------------------------------------------------------------------------- the one pass


def test_log_probs_of_stored_rollouts_are_those_that_the_engine_returned(rollouts, scored):
    stored = [value for one in rollouts for turn in one.turns for value in turn.logprobs_t1]
    assert scored.policy.tolist() == pytest.approx(stored, abs=1e-4)
    heated = [value for one in rollouts for turn in one.turns for value in turn.logprobs]
    assert np.abs(scored.policy - heated).max() > 0.01  # T = 0.9: they are scored at T = 1


def test_both_columns_are_those_of_a_whole_log_softmax(policy, reference, steps, scored):
    found = {"policy": [], "top": [], "reference": []}
    for one in steps:
        for name, model in (("policy", policy), ("reference", reference)):
            with torch.no_grad():
                rows = [model(torch.tensor([s])).logits[0] for s in one.reading.sequences]
            places = zip(one.reading.sequence, one.reading.position, strict=True)
            every = torch.stack([rows[at][place] for at, place in places]).log_softmax(-1)
            found[name] += every.gather(1, torch.tensor(one.reading.tokens)[:, None])[:, 0].tolist()
            if name == "policy":
                found["top"] += every.topk(20)[0].mean(-1).tolist()
    assert scored.policy.tolist() == pytest.approx(found["policy"], abs=1e-4)
    assert scored.policy_top.tolist() == pytest.approx(found["top"], abs=1e-4)
    assert scored.reference.tolist() == pytest.approx(found["reference"], abs=1e-4)


@pytest.mark.parametrize("sizes", [{"tokens_at_once": 1}, {"logits_at_once": 300}, {"top_k": 95}])
def test_neither_batches_nor_pieces_matter(policy, steps, sizes):
    readings = [one.reading for one in steps[:12]]
    usual = score_tokens(policy, readings, top_k=sizes.get("top_k", 20))
    found = score_tokens(policy, readings, **sizes)
    for a, b in zip(found, usual, strict=True):
        assert np.abs(np.subtract(a, b)).max() < 1e-4


def test_a_head_that_is_capped_afterwards_is_capped_in_pieces_too():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        vocab_size=40,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        final_logit_softcapping=0.5,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Gemma2ForCausalLM(config).eval()
    tokens = list(range(1, 13))
    reading = Reading([tokens], np.zeros(11, int), np.arange(11), np.array(tokens[1:]))
    [found] = score_tokens(model, [reading], logits_at_once=80)
    with torch.no_grad():
        every = model(torch.tensor([tokens])).logits[0].log_softmax(-1)
    expected = [every[at, token].item() for at, token in enumerate(tokens[1:])]
    assert found.log_probs.tolist() == pytest.approx(expected, abs=1e-5)


def test_the_head_reads_nothing_but_actions(policy, steps):
    seen = []
    head = policy.get_output_embeddings()
    hook = head.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    score_tokens(policy, [one.reading for one in steps], logits_at_once=95 * 64)
    hook.remove()
    rows = [shape[1] for shape in seen]
    assert max(rows) <= 64
    distinct = {str(one.reading): len(one.reading.tokens) for one in steps}
    assert sum(rows) == sum(distinct.values())


def test_a_model_of_nan_gives_no_scores(policy, steps):
    broken = copy.deepcopy(policy)
    with torch.no_grad():
        next(broken.parameters()).fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="log-probs hold NaN: its weights are damaged"):
        token_scores(broken, None, steps)


def test_ids_of_another_tokenizer_are_refused():
    reading = Reading([[1, 999]], np.zeros(1, int), np.zeros(1, int), np.array([999]))
    with pytest.raises(ValueError, match="token ids from 1 to 999, the model those from 0 to 263"):
        score_tokens(tiny.model(), [reading])


# -------------------------------------------------------------------------------- what is missing


def test_steps_past_the_context_are_missing_and_counted(
    policy, reference, rollouts, tokenizer, scored
):
    long = max(rollouts, key=lambda one: len(one.turns))
    whole = token_scores(policy, reference, [read_stored(long, tokenizer, context=256)])
    limit = len(long.turns[2].prompt_ids) + 1
    cut = token_scores(policy, reference, [read_stored(long, tokenizer, context=limit)])
    assert cut.missing.tolist() == ["", "", *["context"] * (len(long.turns) - 2)]
    assert cut.steps_missing.tolist() == [len(long.turns) - 2]
    assert cut.table()["missing"].tolist() == [len(long.turns) - 2]
    values = score_steps(cut)
    assert values[:2] == pytest.approx(score_steps(whole)[:2], abs=1e-4)
    assert np.isnan(values[2:]).all()
    assert score_trajectory(cut) == pytest.approx(values[:2].mean())
    assert np.isnan(score_trajectory(cut, step="last")).all()
    assert np.isnan(score_trajectory(cut, step="sum")).all()


def test_a_trajectory_without_any_scored_step_is_nan(policy, reference):
    nothing = Reading([[1, 2]], *[np.zeros(0, np.int64)] * 3)
    steps = Steps(("b", "p", "a", "t", 0), False, (1,), (0,), ("context",), nothing)
    scored = token_scores(policy, reference, [steps])
    assert np.isnan(score_trajectory(scored)).all()
    assert np.isnan(trajectory_table(scored)["self-certainty"]).all()


def test_without_a_reference_there_is_no_progress_advantage(policy, steps):
    alone = token_scores(policy, None, steps[:3])
    with pytest.raises(MissingReference, match="a ratio to a reference, and none was run"):
        score_steps(alone)
    with pytest.raises(MissingReference, match="score with a `reference`"):
        BASELINES["reference log-prob"](alone)
    assert np.isfinite(BASELINES["policy log-prob"](alone)).all()
    assert "progress advantage" not in trajectory_table(alone)


# --------------------------------------------------------------------------------- aggregations

VALUES = [-1.0, 2.0, 6.0, 3.0, -4.0, 5.0]
TOKEN_WAYS = {
    "mean": [7 / 3, 4 / 3],
    "sum": [7.0, 4.0],
    "last": [6.0, 5.0],
    "min": [-1.0, -4.0],
    "max": [6.0, 5.0],
    "position": [(-1 + 4 + 18) / 6, (3 - 8 + 15) / 6],
}
STEPS = [3.0, -2.0, 5.0, 1.0, 0.0, 7.0, 2.0, 9.0, 4.0, 6.0, -1.0]
STEP_WAYS = {"mean": 34 / 11, "sum": 34.0, "last": -1.0, "min": -2.0, "max": 9.0, "bottom10": -1.5}


@pytest.mark.parametrize("way", TOKEN_WAYS)
def test_tokens_of_a_step(way):
    found = step_values(worked([3, 3], VALUES), VALUES, way)
    assert found.tolist() == pytest.approx(TOKEN_WAYS[way])


@pytest.mark.parametrize("way", STEP_WAYS)
def test_steps_of_a_trajectory(way):
    scored = worked([1] * 22, np.zeros(22), steps=[11, 0, 11])
    found = trajectory_values(scored, [*STEPS, *STEPS], way)
    assert found[[0, 2]].tolist() == pytest.approx([STEP_WAYS[way]] * 2)
    assert np.isnan(found[1])


def test_the_orders_differ_for_min_and_max_alone():
    rng = np.random.default_rng(0)
    scored = worked([4, 3], rng.normal(size=7), rng.normal(size=7))
    for way in TOKEN_WAYS:
        first, each = (score_steps(scored, token=way, order=o) for o in ("difference", "each"))
        assert np.allclose(first, each) == (way not in ("min", "max"))
    each = score_steps(scored, token="max", order="each")
    assert each[0] == pytest.approx(scored.policy[:4].max() - scored.reference[:4].max())


def test_beta_scales_and_a_policy_against_itself_is_zero():
    scored = worked([2, 1], [-1.0, -2.0, -3.0], [-1.5, -2.5, -1.0])
    doubled, single = (score_steps(scored, token="sum", beta=beta) for beta in (2.0, 1.0))
    assert single.tolist() == pytest.approx([1.0, -2.0])
    assert (doubled == 2 * single).all()
    same = replace(scored, reference=scored.policy)
    assert (score_trajectory(same, token="min", step="min") == 0).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"token": "median"}, "token is 'median': expected one of mean, sum, last"),
        ({"step": "median"}, "step is 'median': expected one of mean, sum, last"),
        ({"order": "first"}, "order is 'first': expected one of difference, each"),
    ],
)
def test_unknown_ways_are_named(options, expected):
    with pytest.raises(ValueError, match=expected):
        score_trajectory(worked([1], [0.0]), **options)


# ------------------------------------------------------------------------------------ baselines


def test_confidence_is_minus_the_mean_of_the_top_and_the_releases_is_not():
    top = -np.arange(1.0, 21.0)
    scored = worked([2] * 10, np.zeros(20), top=top)
    means = (np.arange(1, 21, 2) + np.arange(2, 21, 2)) / 2
    names = ("self-certainty", "DeepConf tail", "DeepConf bottom 10 %")
    found = [BASELINES[name](scored)[0] for name in names]
    assert found == pytest.approx([means.mean(), means[-1], means[0]])
    theirs = [BASELINES[f"{name} (as released)"](scored)[0] for name in names]
    assert theirs == pytest.approx([-means.mean(), -means[-1], -means[-1]])


def test_a_surer_policy_is_more_confident():
    model = tiny.model()
    reading = Reading([[1, 2]], np.zeros(1, int), np.zeros(1, int), np.array([2]))
    before = score_tokens(model, [reading])[0].top[0]
    with torch.no_grad():
        model.lm_head.weight.mul_(30)
    assert -score_tokens(model, [reading])[0].top[0] > -before


def test_all_baselines_are_in_the_table(rollouts, scored):
    table = trajectory_table(scored)
    assert table["turns"].tolist() == [len(one.turns) for one in rollouts]
    assert table["passed"].tolist() == [one.passed for one in rollouts]
    assert set(BASELINES) | {"progress advantage"} < set(table)
    assert (table["minus turns"] == -table["turns"]).all()
    assert oracle(scored).tolist() == [float(one.passed) for one in rollouts]
    assert at_random(scored, np.random.default_rng(0)).shape == (len(rollouts),)
