"""One policy update from the rollouts of a step, by GRPO or by PPO."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from lib.generation.logprobs import action_logits, microbatches
from lib.training.batches import Episode, Scores, collate, entropy, log_softmax
from lib.training.objectives import advantages_over_time, clipped_loss, group_advantages, k3
from lib.training.settings import Settings


class Diverged(ValueError):
    """A number of the training has grown out of bounds; names the step and the learning rate."""

    def __init__(self, step: int, what: str, learning_rate: float):
        super().__init__(
            f"step {step}: {what}: the training has diverged. Lower learning_rate (it is "
            f"{learning_rate:g}) and begin in another folder"
        )


class Learner:
    """Updates a policy by group-relative advantages (GRPO, Shao et al. 2024, arXiv 2402.03300).

    model: its parameters that require a gradient are trained.
    """

    reads_hidden = False
    """Whether `learn` needs the hidden states of the scores."""

    def __init__(self, model, settings: Settings):
        self.model, self.settings = model, settings
        self.reads_all = self.reads_hidden or settings.kl_weight > 0
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def modules(self) -> dict[str, tuple[dict[str, torch.Tensor], torch.optim.Optimizer]]:
        """The trained parts by name: the parameters and the optimizer of each."""
        return {"policy": (self.parameters, self.optimizer)}

    def learn(
        self,
        step: int,
        episodes: Sequence[Episode],
        scores: Scores,
        rewards: Sequence[np.ndarray],
        kept: Sequence[bool],
    ) -> dict[str, Any]:
        """Do the update of a step, and return its entries of the step log, null without an update.

        episodes: group after group; `rewards[g]`, [rollouts], has the rewards of group g in order.
        scores: of their action tokens, or of some of them if not `self.reads_all`.
        kept: the groups that the policy learns from.

        Raises Diverged if a gradient is not finite.
        """
        advantages = self._advantages(step, episodes, scores, rewards, kept)
        numbers = np.flatnonzero(np.repeat(kept, [len(group) for group in rewards]))
        numbers = numbers[[len(episodes[i].tokens) > 0 for i in numbers]]
        entries = self._update_policy(step, episodes, scores, advantages, numbers)
        return entries | self._finish(step, scores)

    def _advantages(self, step, episodes, scores, rewards, kept) -> list[np.ndarray]:
        """The advantages of action tokens, an array for each episode; zeros where not kept."""
        each = [
            group_advantages(group) if keep else np.zeros(len(group))
            for group, keep in zip(rewards, kept, strict=True)
        ]
        pairs = zip(episodes, np.concatenate(each), strict=True)
        return [np.full(len(episode.tokens), value) for episode, value in pairs]

    def _finish(self, step, scores) -> dict[str, Any]:
        return {}

    def _update_policy(self, step, episodes, scores, advantages, numbers) -> dict[str, Any]:
        settings, device = self.settings, self.model.device
        counts = [len(episode.tokens) for episode in episodes]
        start = scores.start_log_probs.split(counts) if settings.kl_weight else None
        # A function of seed and step, so that a resumed run shuffles as an undisturbed run.
        generator = np.random.default_rng([settings.seed, step])
        norms, clipped, tokens = [], 0.0, 0
        for _ in range(settings.epochs):
            shuffled = generator.permutation(numbers)
            for low in range(0, len(shuffled), settings.minibatch):
                batch = shuffled[low : low + settings.minibatch]
                total = sum(counts[i] for i in batch)
                self.optimizer.zero_grad(set_to_none=True)
                for microbatch in microbatches(
                    [episodes[i] for i in batch], rows=settings.rows_at_once
                ):
                    these = batch[microbatch]
                    loss, cut = self._loss(
                        collate([episodes[i] for i in these], device),
                        np.concatenate([advantages[i] for i in these]),
                        torch.cat([start[i] for i in these]) if start else None,
                    )
                    (loss / total).backward()
                    clipped += cut
                tokens += total
                norm = nn.utils.clip_grad_norm_(
                    self.parameters.values(), settings.max_gradient_norm
                )
                if not norm.isfinite():
                    raise Diverged(step, "the gradient is not finite", settings.learning_rate)
                norms.append(float(norm))
                self.optimizer.step()
        return {
            "gradient_norm": float(np.mean(norms)) if norms else None,
            "clip_share": clipped / tokens if tokens else None,
            "updates": len(norms),
        }

    def _loss(self, actions, advantages, start) -> tuple[torch.Tensor, float]:
        """The loss summed over action tokens, and how many of them are clipped.

        The ratio is to the probability at which the token was sampled, which is not recomputed.
        """
        settings = self.settings
        logits, _ = action_logits(self.model, actions)
        every = log_softmax(logits, actions.temperature)
        log_probs = every.gather(1, actions.tokens[:, None])[:, 0]
        advantages = torch.from_numpy(advantages).to(log_probs)
        clip = settings.clip_low, settings.clip_high
        loss, cut = clipped_loss(log_probs, actions.sampled, advantages, *clip)
        if settings.entropy_bonus:
            loss = loss - settings.entropy_bonus * entropy(every)
        if settings.kl_weight:
            loss = loss + settings.kl_weight * k3(log_probs, start)
        return loss.sum(), float(cut.sum())


class Critic(nn.Module):
    """The value of a context: the policy's last hidden state, through one hidden layer.

    The hidden states carry no gradient, so that the critic does not change the policy.
    """

    def __init__(self, width: int, hidden: int, generator: torch.Generator):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, hidden), nn.Linear(hidden, 1)
        with torch.no_grad():
            self.inner.weight.normal_(0, width**-0.5, generator=generator)
            for tensor in (self.inner.bias, self.outer.weight, self.outer.bias):
                tensor.zero_()  # so that all values are 0 at first

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Values [a] of hidden states [a, width]."""
        return self.outer(nn.functional.gelu(self.inner(self.norm(states))))[:, 0]


class CriticLearner(Learner):
    """Updates a policy by token-level advantages over a critic (PPO, arXiv 1707.06347).

    The critic learns from all rollouts, after it has valued them; the policy from the kept groups,
    after the critic's warm-up. Advantages are neither centred nor scaled.
    """

    reads_hidden = True

    def __init__(self, model, settings: Settings):
        super().__init__(model, settings)
        generator = torch.Generator().manual_seed(settings.seed)
        width = model.get_output_embeddings().weight.shape[1]
        self.critic = Critic(width, settings.critic_width, generator).to(model.device)
        self.critic_optimizer = torch.optim.AdamW(
            self.critic.parameters(), lr=settings.critic_learning_rate, weight_decay=0.0
        )

    def modules(self):
        critic = (dict(self.critic.named_parameters()), self.critic_optimizer)
        return super().modules() | {"critic": critic}

    def learn(self, step, episodes, scores, rewards, kept):
        if step <= self.settings.critic_warmup:
            kept = [False] * len(kept)
        return super().learn(step, episodes, scores, rewards, kept)

    @torch.no_grad()
    def _advantages(self, step, episodes, scores, rewards, kept):
        settings = self.settings
        values = self.critic(scores.hidden.float()).double().cpu().numpy()
        advantages, at = [], 0
        for episode, reward in zip(episodes, np.concatenate(rewards), strict=True):
            count = len(episode.tokens)
            after = np.zeros(count)
            after[-1:] = reward
            own = values[at : at + count]
            advantages.append(advantages_over_time(own, after, settings.gamma, settings.lam))
            at += count
        self.returns = np.concatenate(advantages) + values  # lambda returns, the critic's target
        spread = self.returns.var()
        self.explained = 1 - (self.returns - values).var() / spread if spread > 0 else None
        return advantages

    def _finish(self, step, scores):
        settings, device = self.settings, scores.hidden.device
        states, returns = scores.hidden.float(), torch.from_numpy(self.returns).to(device).float()
        generator = np.random.default_rng([settings.seed, step, 1])
        size = max(1, len(states) // 4)
        losses = []
        for _ in range(settings.critic_epochs):
            order = torch.from_numpy(generator.permutation(len(states))).to(device)
            for these in order.split(size):
                loss = (self.critic(states[these]) - returns[these]).square().mean()
                self.critic_optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self.critic_optimizer.step()
                losses.append(float(loss.detach()))
        return {
            "critic_loss": float(np.mean(losses)) if losses else None,
            "explained_variance": self.explained,
        }


def make_learner(model, settings: Settings) -> Learner:
    """The learner of the algorithm that the settings name."""
    return {"grpo": Learner, "ppo": CriticLearner}[settings.algorithm](model, settings)
