"""GRPO and PPO: the numbers an update is made of, the loop, its log, exact resumption."""

import copy
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lib.generation import Engine, Sampling
from lib.generation.logprobs import action_logits, microbatches
from lib.ptgs import PTGS, MissingTemperature
from lib.rollouts.policies import LocalPolicy
from lib.training import (
    Diverged,
    FixedTemperature,
    PTGSSchedule,
    ShuffledSchedule,
    YokedSchedule,
    checkpoints,
    defaults,
    read_log,
    train_policy,
)
from lib.training.batches import collate, read_episode, score
from lib.training.learners import make_learner
from lib.training.loop import choose_tasks, has_reward, roll_out_groups
from lib.training.objectives import (
    advantages_over_time,
    clipped_loss,
    group_advantages,
    k3,
    kept_groups,
)
from lib.trajectories import storage
from lib.trajectories.schema import Message, Rollout, Turn
from tests import lettered

WORLD = lettered.Letters()
SMALL = {"steps": 6, "groups": 3, "group_size": 4, "minibatch": 8, "max_new_tokens": 6}


@pytest.fixture(scope="module")
def base():
    return lettered.base()


def run(base, out, schedule=None, world=WORLD, algorithm="grpo", **changes):
    """Train a copy of the base; the model and the step log."""
    options = {key: changes.pop(key) for key in ("checkpoint_every",) if key in changes}
    settings = defaults(algorithm, **{**SMALL, "learning_rate": 1e-3, **changes})
    schedule, model = schedule or FixedTemperature(1.0), copy.deepcopy(base)
    language = lettered.TOKENIZER, lettered.PROMPT_FORMAT
    log = train_policy(model, *language, world, world.tasks(), settings, schedule, out, **options)
    return model, log


def groups_of(model, heats=(0.6, 1.4), **changes):
    """Groups of rollouts of some tasks, each at its temperature."""
    sampling = Sampling(temperature=1.0, max_new_tokens=6)
    policy = LocalPolicy(
        Engine(model, lettered.TOKENIZER), lettered.PROMPT_FORMAT, sampling, name="m"
    )
    settings = defaults("grpo", **{**SMALL, **changes})
    tasks = WORLD.tasks()[: len(heats)]
    return roll_out_groups(policy, WORLD, tasks, heats, settings, step=1)


def scored(model, episodes, **changes):
    options = {"t_ref": 1.0, "rows": 128, "compare": [True] * len(episodes), **changes}
    return score(model, lambda actions: action_logits(model, actions)[0], episodes, **options)


def without_seconds(log):
    return [{name: value for name, value in line.items() if name != "seconds"} for line in log]


# ---------------------------------------------------------------------------- advantages and losses


def test_group_advantages_have_mean_0_and_deviation_1():
    found = group_advantages(np.array([1.0, 0, 0, 0]))
    assert found == pytest.approx(np.array([3, -1, -1, -1]) / np.sqrt(3))


def test_groups_of_equal_rewards_are_dropped():
    rewards = [np.ones(4), np.array([0, 1.0]), np.zeros(4), np.zeros(0)]
    assert kept_groups(rewards) == [False, True, False, False]


def test_a_mass_keeps_the_groups_that_vary_most():
    rewards = [np.array([0, x]) for x in (2.0, 10.0, 6.0, 2.0, 0.0)]  # deviations 1, 5, 3, 1, 0
    assert kept_groups(rewards, 0.8) == [False, True, True, False, False]
    assert kept_groups(rewards, 0.9) == [True, True, True, False, False]
    assert kept_groups(rewards, 1.0) == [True, True, True, True, False]


def test_advantages_are_returns_less_values_at_gamma_and_lambda_1():
    values, rewards = np.array([0.2, 0.5, 0.1]), np.array([0, 0, 1.0])
    assert advantages_over_time(values, rewards, 1, 1) == pytest.approx(1 - values)


def test_advantages_over_time_by_their_sum():
    values, rewards, gamma, lam = np.array([0.2, 0.5, 0.1]), np.array([0.3, 0, 1.0]), 0.9, 0.8
    deltas = rewards + gamma * np.array([0.5, 0.1, 0]) - values
    sums = [sum((gamma * lam) ** k * d for k, d in enumerate(deltas[t:])) for t in range(3)]
    assert advantages_over_time(values, rewards, gamma, lam) == pytest.approx(sums)


def test_the_clip_is_asymmetric_and_pessimistic():
    ratios = torch.tensor([1.3, 1.25, 0.7, 0.7, 1.3])
    advantages = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0])
    loss, cut = clipped_loss(ratios.log(), torch.zeros(5), advantages, 0.2, 0.28)
    assert loss.tolist() == pytest.approx([-1.28, -1.25, -0.7, 0.8, 1.3])
    assert cut.tolist() == [True, False, False, True, False]


def test_k3_has_the_kl_as_its_mean():
    own, start = torch.tensor([0.2, 0.5, 0.3]).log(), torch.tensor([0.6, 0.3, 0.1]).log()
    kl = (own.exp() * (own - start)).sum()
    assert (own.exp() * k3(own, start)).sum().item() == pytest.approx(kl.item())


# --------------------------------------------------------------------------- rollouts as tensors


def test_log_probs_at_each_rows_temperature_are_those_it_was_sampled_with(base):
    rows = [row for group in groups_of(base) for row in group]
    episodes = [read_episode(row) for row in rows]
    found = scored(base, episodes, rows=3)
    turns = [turn for row in rows for turn in row.turns]
    assert max(len(row.turns) for row in rows) == 2
    sampled = [value for turn in turns for value in turn.logprobs]
    assert found.log_probs.tolist() == pytest.approx(sampled, abs=1e-4)
    at_1 = [value for turn in turns for value in turn.logprobs_t1]
    cold = [episode._replace(temperature=1.0) for episode in episodes]
    assert scored(base, cold).log_probs.tolist() == pytest.approx(at_1, abs=1e-4)
    assert max(abs(a - b) for a, b in zip(sampled, at_1, strict=True)) > 0.1


def test_entropy_and_kl_are_those_of_the_whole_distribution(base):
    other = lettered.model()
    (row,) = groups_of(base, heats=(0.7,))[0][:1]
    episode = read_episode(row)
    found = score(
        base,
        lambda actions: action_logits(other, actions)[0],
        [episode],
        t_ref=1.0,
        rows=8,
        compare=[True],
    )
    (ids,) = episode.sequences
    with torch.no_grad():
        own, start = (m(torch.tensor([ids])).logits[0, episode.position] for m in (base, other))
    p, q = own.softmax(-1), start.softmax(-1)
    hot = (own / 0.7).softmax(-1)
    assert torch.allclose(found.entropy_ref, -(p * p.log()).sum(-1), atol=1e-5)
    assert torch.allclose(found.entropy_x, -(hot * hot.log()).sum(-1), atol=1e-5)
    assert torch.allclose(found.kl_start, (p * (p / q).log()).sum(-1), atol=1e-4)
    picked = (start / 0.7).log_softmax(-1).gather(1, torch.tensor(episode.tokens)[:, None])[:, 0]
    assert torch.allclose(found.start_log_probs, picked, atol=1e-5)


def rollout(*turns, **sampling):
    said = [Message("user", "?")] + [Message("assistant", "!")] * len(turns)
    made = [
        Turn(1 + i, prompt_ids=read, action_ids=chosen, logprobs=[-1.0] * len(chosen))
        for i, (read, chosen) in enumerate(turns)
    ]
    return Rollout("b", "p", "a", "t", 5, True, messages=said, turns=made, sampling=sampling)


def test_turns_that_go_on_from_each_other_are_read_once():
    episode = read_episode(rollout(([1, 2], [3, 4]), ([1, 2, 3, 4, 5], [6]), temperature=1.0))
    assert episode.sequences == [[1, 2, 3, 4, 5]]
    assert episode.position.tolist() == [1, 2, 4]
    assert episode.tokens.tolist() == [3, 4, 6]


def test_an_end_token_that_the_next_turn_left_out_still_counts():
    episode = read_episode(rollout(([1, 2], [3, 4]), ([1, 2, 3, 5], [6]), temperature=1.0))
    assert episode.sequences == [[1, 2, 3, 5]]
    assert episode.position.tolist() == [1, 2, 3]
    assert episode.tokens.tolist() == [3, 4, 6]


def test_a_turn_on_other_tokens_is_read_by_itself():
    turns = ([1, 2], [3, 4]), ([1, 7, 5], [6]), ([1, 7, 5, 6, 8], [9])
    episode = read_episode(rollout(*turns, temperature=1.0))
    assert episode.sequences == [[1, 7, 5, 6, 8], [1, 2, 3]]
    assert episode.sequence.tolist() == [1, 1, 0, 0]
    assert episode.tokens.tolist() == [3, 4, 6, 9]
    together = collate([read_episode(rollout(([1], [2]), temperature=1.0)), episode])
    assert together.sequence.tolist() == [0, 2, 2, 1, 1]
    assert together.rollout.tolist() == [0, 1, 1, 1, 1]


def test_a_rollout_without_a_temperature_is_an_error():
    with pytest.raises(MissingTemperature, match=r"'t', 5\) has the temperature None"):
        read_episode(rollout(([1], [2])))


def test_a_rollout_without_a_token_has_no_action(base):
    empty = read_episode(rollout(([1, 2], []), temperature=1.0))
    assert scored(base, [empty, read_episode(rollout(([1], [2]), temperature=1.0))])[0].shape == (
        1,
    )


def test_lots_hold_every_episode_once(base):
    episodes = [read_episode(row) for group in groups_of(base) for row in group]
    found = microbatches(episodes, rows=3)
    assert sorted(i for microbatch in found for i in microbatch) == list(range(len(episodes)))
    assert max(map(len, found)) == 3


# ------------------------------------------------------------------------------------ the update


def test_the_first_gradient_is_that_of_the_policy_gradient(base):
    """Where the ratio is 1, it is -sum A grad log p(T_x) over tokens, divided by their number."""
    model = copy.deepcopy(base)
    groups = groups_of(model)
    episodes = [read_episode(row) for group in groups for row in group]
    rewards = [np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0])]
    settings = defaults("grpo", **SMALL, learning_rate=1e-12, max_gradient_norm=1e9)
    learner = make_learner(model, settings)
    said = learner.learn(1, episodes, scored(model, episodes), rewards, [True, True])
    found = [parameter.grad.clone() for parameter in model.parameters()]

    model.zero_grad()
    loss, count = 0.0, 0
    advantages = np.concatenate([group_advantages(group) for group in rewards])
    for episode, advantage in zip(episodes, advantages, strict=True):
        (ids,) = episode.sequences
        logits = model(torch.tensor([ids])).logits[0, episode.position] / episode.temperature
        picked = logits.log_softmax(-1).gather(1, torch.tensor(episode.tokens)[:, None])
        loss = loss - advantage * picked.sum()
        count += len(episode.tokens)
    (loss / count).backward()
    for mine, parameter in zip(found, model.parameters(), strict=True):
        assert torch.allclose(mine, parameter.grad, atol=1e-6)
    assert said["clip_share"] == 0
    assert said["updates"] == 1


def test_small_passes_give_the_same_gradient(base):
    norms = []
    for rows in (128, 3):
        model = copy.deepcopy(base)
        episodes = [read_episode(row) for group in groups_of(model) for row in group]
        extras = {"entropy_bonus": 0.1, "kl_weight": 0.1}
        learner = make_learner(model, defaults("grpo", **SMALL, **extras, rows_at_once=rows))
        rewards = [np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0])]
        said = learner.learn(1, episodes, scored(model, episodes), rewards, [True, True])
        norms.append(said["gradient_norm"])
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)


def test_the_critic_learns_before_the_policy(base, tmp_path):
    model, log = run(base, tmp_path, algorithm="ppo", critic_warmup=6)
    assert [line["updates"] for line in log] == [0] * 6
    for mine, theirs in zip(model.parameters(), base.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert log[0]["explained_variance"] == 0  # its first values are all 0
    assert log[-1]["gradient_norm"] is None


# -------------------------------------------------------------------------------------- the loop


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_a_policy_learns(base, tmp_path, algorithm):
    changes = {"steps": 24, "groups": 6, "group_size": 8, "minibatch": 32, "learning_rate": 2e-3}
    changes["critic_warmup"] = 2
    _, log = run(base, tmp_path, algorithm=algorithm, **changes)
    success = [line["success"] for line in log]
    assert np.mean(success[-6:]) > np.mean(success[:6]) + 0.1
    assert max(line["engine_gap"] for line in log) < 1e-4
    assert log[0]["kl_start"] == pytest.approx(0, abs=1e-6)
    assert log[-1]["kl_start"] > 0.01


def test_the_step_log_tells_the_temperatures(base, tmp_path):
    _, log = run(base, tmp_path, PTGSSchedule(PTGS()))
    assert log == read_log(tmp_path / "steps.jsonl")
    for line in log:
        heats = [group["temperature"] for group in line["groups"]]
        assert line["temperature"]["mean"] == pytest.approx(np.mean(heats))
        assert (line["temperature"]["min"], line["temperature"]["max"]) == (min(heats), max(heats))
        assert all(1 / 1.5 <= heat <= 1.5 for heat in heats)
        counts = [group["successes"] for group in line["groups"]]
        assert line["success"] == sum(counts) / 12
        assert line["mixed"] == pytest.approx(np.mean([0 < count < 4 for count in counts]))


def test_every_group_is_observed_before_the_filter(base, tmp_path):
    ptgs = PTGS(gamma=0.5)
    _, log = run(base, tmp_path, PTGSSchedule(ptgs), learning_rate=1e-9)
    assert any(line["kept"] < 1 for line in log)
    expected = {}
    for line in log:
        for group in line["groups"]:
            s, f = expected.get(group["task"], (0, 0))
            won = group["successes"]
            expected[group["task"]] = (0.5 * s + won, 0.5 * f + 4 - won)
    assert ptgs.counts == expected


def test_a_round_meets_every_task_once_and_no_step_meets_one_twice():
    tasks = [f"t{i}" for i in range(20)]
    steps = [choose_tasks(tasks, 5, step, seed=1) for step in range(1, 9)]
    for one in (steps[:4], steps[4:]):
        assert sorted(task for step in one for task in step) == sorted(tasks)
    assert steps[:4] != steps[4:]
    assert steps != [choose_tasks(tasks, 5, step, seed=2) for step in range(1, 9)]


def test_no_two_steps_or_seeds_share_an_attempt(base):
    numbers = [
        defaults("grpo", seed=seed).first_attempt(step) + i
        for seed in (0, 1)
        for step in (1, 2, 200)
        for i in range(16)
    ]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= 1_000_000


def test_attempts_that_could_not_be_graded_count_neither_way(base, tmp_path):
    class Broken(lettered.Letters):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            if attempt % 4 == 0:
                episode.step = lambda reply: 1 / 0
            return episode

    ptgs = PTGS(gamma=1)
    _, log = run(base, tmp_path, PTGSSchedule(ptgs), world=Broken())
    assert {line["ungraded"] for line in log} == {3}
    assert {group["rollouts"] for line in log for group in line["groups"]} == {3}
    assert sum(map(sum, ptgs.counts.values())) == 6 * 9


def test_the_shaped_return_can_be_the_reward(base, tmp_path):
    _, log = run(base, tmp_path, reward="return")
    assert any(line["reward"] < line["success"] for line in log)
    found = [group["successes"] for line in log for group in line["groups"]]
    assert all(type(count) is int for count in found)


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({}, "has no return: its environment gives none"),
        ({"return": np.nan}, "has the return nan: expected a finite number; mend its environment"),
        ({"return": "1"}, "has the return '1': expected a finite number; mend its environment"),
    ],
)
def test_a_world_without_returns_says_so(base, tmp_path, info, said):
    class Bare(lettered.Letters):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            step = episode.step

            def bare(reply):
                said = step(reply)
                episode.outcome = episode.outcome and replace(episode.outcome, info=info)
                return said

            episode.step = bare
            return episode

    with pytest.raises(ValueError, match=said):
        run(base, tmp_path, world=Bare(), reward="return")


@pytest.mark.parametrize(("decay", "step"), [(0.0, 2), (1e29, 1)])
def test_weights_that_grew_without_bounds_are_a_divergence(base, tmp_path, decay, step):
    with pytest.raises(Diverged, match=rf"step {step}: .* the training has diverged"):
        run(base, tmp_path, learning_rate=1e10, weight_decay=decay, minibatch=64)


def test_a_divergence_says_what_to_do():
    told = r"step 3: reward is nan: the training has diverged. Lower learning_rate \(it is 0.01\)"
    with pytest.raises(Diverged, match=rf"^{told} and begin in another folder$"):
        raise Diverged(3, "reward is nan", 0.01)


def test_log_probs_that_disagree_are_a_bug_at_first_and_a_divergence_later(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(RuntimeError, match=r"step 1: a log-prob of the update differs by .* must agree"):
        run(base, tmp_path / "first")
    monkeypatch.undo()
    with pytest.raises(Killed):
        run(base, tmp_path / "later", Stopping(PTGS()), checkpoint_every=0)
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(Diverged, match=r"step 5: a log-prob of the update differs .* has diverged"):
        run(base, tmp_path / "later", PTGSSchedule(PTGS()))


@pytest.mark.parametrize("finish", ["context", "stop"])
def test_an_attempt_that_was_cut_has_no_return_unless_its_world_told_one(finish):
    turns = [Turn(1, prompt_ids=[1], action_ids=[2], logprobs=[-1.0], finish=finish)]
    said = [Message("user", "?"), Message("assistant", "!")]
    cut = Rollout("b", "p", "a", "t", 1, False, messages=said, turns=turns)
    turned = {"reward": "return", "max_turns": 1 if finish == "stop" else 9}
    assert not has_reward(cut, defaults("grpo", **turned))
    assert has_reward(replace(cut, info={"return": 0.5}), defaults("grpo", **turned))
    assert has_reward(cut, defaults("grpo", **turned | {"reward": "passed"}))


def test_attempts_that_were_cut_have_failed_and_teach_no_return(base, tmp_path):
    _, log = run(base, tmp_path, PTGSSchedule(PTGS(gamma=1)), max_turns=1, reward="return", steps=2)
    for line in log:
        solved = sum(group["successes"] for group in line["groups"])
        assert line["ungraded"] == 12 - solved > 0
        assert line["success"] == solved / 12  # the schedule counts them
        assert {group["rollouts"] for group in line["groups"]} == {4}


def test_a_run_that_was_refused_at_its_first_step_can_be_begun_otherwise(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(RuntimeError, match="must agree"):
        run(base, tmp_path)
    monkeypatch.undo()
    _, log = run(base, tmp_path, learning_rate=2e-3)
    assert len(log) == 6


def begun(out, ends):
    """Begin a run that ends so before its first step."""
    checkpoints.agree(out, {"settings": {}})
    with checkpoints.alone(out):
        (out / "steps.jsonl").touch()
        raise ends


def test_a_run_that_another_process_gave_up_is_not_begun_in_its_ruins(tmp_path):
    with pytest.raises(RuntimeError, match="refused"):
        begun(tmp_path, RuntimeError("refused"))
    assert not any(tmp_path.iterdir())
    gone = checkpoints.alone(tmp_path)
    with pytest.raises(ValueError, match="has just removed this run, which had failed"):
        gone.__enter__()


def test_a_run_that_is_stopped_keeps_its_settings(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        begun(tmp_path, KeyboardInterrupt())
    assert (tmp_path / "run.json").exists()


def test_a_task_that_is_no_string_is_named(base, tmp_path):
    class Numbered(lettered.Letters):
        def tasks(self):
            return [1, 2, 3]

        def reset(self, task, attempt):
            return super().reset("a1", attempt)

    with pytest.raises(ValueError, match=r"task must be a string, got [123]"):
        run(base, tmp_path, world=Numbered())


def test_a_pool_that_is_too_small_is_refused(base, tmp_path):
    with pytest.raises(ValueError, match="19 groups a step from a pool of 18 tasks"):
        run(base, tmp_path, groups=19)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"Settings.group_size is 1: it must be at least 2"):
        defaults("grpo", group_size=1)
    with pytest.raises(ValueError, match=r"Settings.algorithm is 'dpo': it must be grpo or ppo"):
        defaults("dpo")
    for value in (2.5, np.int64(2), None, True):
        with pytest.raises(ValueError, match=r"Settings.epochs is .*: it must be a whole number"):
            defaults("grpo", epochs=value)
    with pytest.raises(ValueError, match=r"Settings.learning_rate is '1': it must be a number"):
        defaults("grpo", learning_rate="1")


# ------------------------------------------------------------------------------------- resumption


class Killed(BaseException):
    pass


class Stopping(PTGSSchedule):
    """PTGS that is stopped at the beginning of a step."""

    def assign(self, step, total, tasks):
        if step == 5:
            raise Killed
        return super().assign(step, total, tasks)


@pytest.mark.parametrize(("algorithm", "warmup"), [("grpo", 0), ("ppo", 2), ("ppo", 5)])
def test_a_stopped_run_ends_as_it_would_have(base, tmp_path, algorithm, warmup):
    changes = {"algorithm": algorithm, "critic_warmup": warmup}
    whole, log = run(base, tmp_path / "whole", PTGSSchedule(PTGS()), **changes)
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        run(base, out, Stopping(PTGS()), checkpoint_every=0, **changes)
    with (out / "steps.jsonl").open("a") as file:  # a kill may come before the next checkpoint
        file.write(json.dumps({"step": 5, "success": 9}) + '\n{"step": 6, "succ')
    model, again = run(base, out, PTGSSchedule(PTGS()), **changes)
    assert without_seconds(again) == without_seconds(log)
    for mine, theirs in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    kept = [path.name for path in out.glob("*checkpoint*")]
    assert kept == ["checkpoint-000006"]


def test_a_finished_run_is_only_read(base, tmp_path):
    model, log = run(base, tmp_path)
    again, read = run(base, tmp_path)
    assert read == log
    for mine, theirs in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_checkpoint_that_a_kill_left_is_removed(base, tmp_path):
    run(base, tmp_path)
    (tmp_path / "checkpoint-000001").mkdir()
    run(base, tmp_path)
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-000006"]


def test_two_processes_do_not_train_in_one_folder(base, tmp_path):
    run(base, tmp_path)
    with (
        checkpoints.alone(tmp_path),
        pytest.raises(ValueError, match="another process is training in this folder"),
    ):
        run(base, tmp_path)


DAMAGES = {
    "run.json": "[]",
    "steps.jsonl": "",
    "checkpoint-000006/policy.safetensors": "torn",
    "checkpoint-000006/policy.optimizer.pt": "torn",
    "checkpoint-000006/sampler.json": "{",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_of_a_run_is_named(base, tmp_path, name):
    run(base, tmp_path, PTGSSchedule(PTGS()))
    (tmp_path / name).write_text(DAMAGES[name])
    with pytest.raises(ValueError, match=rf"{name} is damaged .*choose another folder"):
        run(base, tmp_path, PTGSSchedule(PTGS()))


@pytest.mark.parametrize("damage", [lambda one: one[:1], lambda one: one * np.nan])
@pytest.mark.parametrize("part", ["weights", "moments"])
def test_a_checkpoint_of_another_model_is_named(base, tmp_path, part, damage):
    run(base, tmp_path, learning_rate=2e-3)
    weights, moments = (
        tmp_path / f"checkpoint-000006/policy.{x}" for x in ("safetensors", "optimizer.pt")
    )
    if part == "weights":
        save_file({name: damage(one).clone() for name, one in load_file(weights).items()}, weights)
    else:
        there = torch.load(moments)
        for state in there["state"].values():
            state["exp_avg"] = damage(state["exp_avg"])
        torch.save(there, moments)
    with pytest.raises(ValueError, match=r"is damaged \(.*(shape|not finite).*choose another"):
        run(base, tmp_path, learning_rate=2e-3)


LOST_MOMENTS = {
    r"it lacks exp_avg of \S+ and \d+ more": lambda state: state.clear(),
    r"it lacks exp_avg of lm_head.weight and 2 more": lambda state: state.popitem(),
    r"it lacks step of \S+\)": lambda state: state[0].pop("step"),
    r"step of \S+ has the shape \(2,\), in this run it is \(\)": lambda state: state[0].update(
        step=torch.ones(2)
    ),
    r"it has exp_avg of parameter 99, which is not of this run": lambda state: state.update(
        {99: state[0]}
    ),
}


@pytest.mark.parametrize("said", LOST_MOMENTS)
def test_an_optimizer_without_its_moments_is_named(base, tmp_path, said):
    run(base, tmp_path, learning_rate=2e-3)
    path = tmp_path / "checkpoint-000006" / "policy.optimizer.pt"
    there = torch.load(path)
    LOST_MOMENTS[said](there["state"])
    torch.save(there, path)
    with pytest.raises(ValueError, match=rf"policy.optimizer.pt is damaged \(.*{said}.*Put it"):
        run(base, tmp_path, learning_rate=2e-3)


@pytest.mark.parametrize("left", ["steps.jsonl", "checkpoint-000006"])
def test_a_log_or_checkpoint_without_its_run_is_refused(base, tmp_path, left):
    run(base, tmp_path)
    for path in tmp_path.iterdir():
        if path.name != left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(ValueError, match=rf"run.json is missing beside {left}: put it back"):
        run(base, tmp_path, clip_low=0.1)
    assert [path.name for path in tmp_path.iterdir()] == [left]


def test_of_two_runs_that_begin_together_one_writes_its_settings(tmp_path, monkeypatch):
    ours, theirs = {"settings": {"seed": 0}}, {"settings": {"seed": 1}}
    agree, write_once = checkpoints.agree, storage.write_once

    def late(path, text):
        monkeypatch.undo()
        agree(tmp_path, theirs)
        return write_once(path, text)

    monkeypatch.setattr(storage, "write_once", late)
    with pytest.raises(ValueError, match="begun with settings seed = 1, now it is 0"):
        agree(tmp_path, ours)


def test_another_setting_in_the_same_folder_is_refused(base, tmp_path):
    run(base, tmp_path)
    with pytest.raises(ValueError, match=r"begun with settings clip_low = 0.2, now it is 0.1"):
        run(base, tmp_path, clip_low=0.1)
    with pytest.raises(ValueError, match=r"begun with sampler temperature = 1.0, now it is 0.5"):
        run(base, tmp_path, FixedTemperature(0.5))
    with pytest.raises(ValueError, match=r"begun with sampler = 'fixed', now it is 'ptgs': choose"):
        run(base, tmp_path, PTGSSchedule(PTGS()))


def test_a_run_that_is_to_be_longer_is_told_why_it_cannot(base, tmp_path):
    run(base, tmp_path)
    told = r"steps = 6, now it is 9: the temperatures of PTGS .* Set it back; or .* another folder"
    with pytest.raises(ValueError, match=told):
        run(base, tmp_path, steps=9)


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ([1, 2], [1, 3], r"a list of 2, 2 at place 2, now it is a list of 2, 3 at place 2"),
        ([1], [1, 2], r"a list of 1, now it is a list of 2, 2 at place 2"),
        ({"x": "harness"}, {"x": "plain", "y": 1}, r"world x = 'harness', now it is 'plain'"),
        ({"x": {"z": 1, "y": 2}}, {"x": {"z": 1}}, r"world x y = 2, now it is None"),
        ({"world": 1}, {"world": 2}, r"with world = 1, now it is 2"),
        ({}, {"x": None}, r"world x = None, now it is None"),
        ([], None, r"with world = \[\], now it is None"),
    ],
)
def test_settings_that_hold_several_differ_by_one(tmp_path, then, now, said):
    checkpoints.agree(tmp_path, {"world": {"world": then}})
    with pytest.raises(ValueError, match=said):
        checkpoints.agree(tmp_path, {"world": {"world": now}})


def test_a_setting_that_was_not_recorded_is_not_compared(tmp_path):
    checkpoints.agree(tmp_path, {"start": {"weights": "a"}})
    checkpoints.agree(tmp_path, {"start": {"weights": "a", "tokenizer": "b"}})
    with pytest.raises(ValueError, match="begun with start weights = 'a', now it is None"):
        checkpoints.agree(tmp_path, {"start": {"tokenizer": "b"}})


# -------------------------------------------------------------------------------------- the arms


def write_log(path, heats):
    lines = [{"step": n, "groups": [{"task": "a", "temperature": h}]} for n, h in enumerate(heats)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("value", ["1", None, 0, -1, np.nan, np.inf, [1.0]])
def test_a_temperature_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=r"temperature is .*: it must be a finite number above 0"):
        FixedTemperature(value)


@pytest.mark.parametrize("arm", [YokedSchedule, ShuffledSchedule])
def test_a_log_that_is_a_folder_or_not_there_is_named(tmp_path, arm):
    with pytest.raises(
        FileNotFoundError, match=r"it is a folder, give the file in it.*steps.jsonl"
    ):
        arm(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing: there is no such file; .*steps.jsonl"):
        arm(tmp_path / "nothing")


@pytest.mark.parametrize("arm", [YokedSchedule, ShuffledSchedule])
def test_what_a_control_replays_is_a_setting(tmp_path, arm):
    one, same, other = (
        arm(write_log(tmp_path / name, heats)).settings
        for name, heats in (("a", [1.0, 0.5]), ("b", [1.0, 0.5]), ("c", [1.0, 0.6]))
    )
    assert one == same != other


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{torn", r"log:1 is no line of a step log: not JSON"),
        ("[]", r"log:1 is no line of a step log: it has no whole step number"),
        ('{"step": 1}', r"log:1: each group of a step needs a task and a temperature"),
        ('{"step": 1, "groups": [{"task": "a", "temperature": NaN}]}', r"log:1: each group"),
        ('{"step": 1, "groups": [{"task": "a", "temperature": "1"}]}', r"log:1: each group"),
        ('{"step": 1, "groups": []}\n{"step": 1}', r"log:2 repeats step 1"),
    ],
)
def test_a_bad_line_of_a_log_is_named(tmp_path, line, said):
    (tmp_path / "log").write_text(line + "\n")
    with pytest.raises(ValueError, match=said):
        YokedSchedule(tmp_path / "log")


def test_the_controls_take_their_heat_from_the_run_of_the_same_seed(base, tmp_path):
    _, log = run(base, tmp_path / "ptgs", PTGSSchedule(PTGS()))
    path = tmp_path / "ptgs" / "steps.jsonl"
    _, yoked = run(base, tmp_path / "yoked", YokedSchedule(path))
    _, shuffled = run(base, tmp_path / "shuffled", ShuffledSchedule(path))

    def heats(line):
        return [group["temperature"] for group in line["groups"]]

    for theirs, spread, mixed in zip(log, yoked, shuffled, strict=True):
        assert heats(spread) == [pytest.approx(np.mean(heats(theirs)))] * 3
        assert sorted(heats(mixed)) == sorted(heats(theirs))
    assert any(heats(a) != heats(b) for a, b in zip(log, shuffled, strict=True))


def test_a_control_refuses_a_run_with_other_tasks(base, tmp_path):
    run(base, tmp_path, PTGSSchedule(PTGS()))
    yoked = YokedSchedule(tmp_path / "steps.jsonl")
    with pytest.raises(ValueError, match=r"has 6 steps, this run 7: .* finished PTGS run"):
        yoked.check([["a1"]] * 7)
    with pytest.raises(ValueError, match=r"same seed, pool and groups"):
        yoked.assign(1, 6, ["a1", "a2", "a3"])
    with pytest.raises(ValueError, match=r"has no step 7: .* finished PTGS run"):
        yoked.assign(7, 7, ["a1", "a2", "a3"])
    with pytest.raises(ValueError, match=r"same seed, pool and groups"):
        run(base, tmp_path / "yoked", yoked, seed=1)
    assert not (tmp_path / "yoked").exists()  # so that the right log can still be given
