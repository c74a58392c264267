"""Train a nano net; run again to go on where it stopped.

    python -m training.train --net any-view --steps 8000 --width 112 --batch 32 --decay 1    # most of the way with small pictures
    python -m training.train --net any-view --steps 12000 --decay 2000
    python -m training.train --net metric --start any-view

The learning rate rises, stays, and falls to nothing over the last `--decay` steps. Just before it falls the state is kept as `plateau.pt`:
`--resume plateau` goes on from there with more steps or a larger picture. `--finish 12` ends it by the clock instead: the rate falls over
the next 12 minutes. `touch <state>/pause` holds the work.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import losses
from .batches import Source
from .dataset import STATE, load
from .inherit import inherit
from .nets import NanoNet, NanoShape, whiten
from .pause import wait_while_paused
from .validate import quick_score
from .workers import share_gradients, start

SAVE_EVERY, SCORE_EVERY, LOG_EVERY = 120.0, 100, 25  # seconds, steps, steps


class Training:
    """Net, moving average, optimisers and random state: all that a checkpoint holds."""

    def __init__(self, options, rank):
        self.name, self.options, self.rank, self.step, self.pictures = options.net, options, rank, 0, 0
        self.began = time.monotonic()
        self.folder = options.state / self.name
        torch.manual_seed(options.seed)
        shape = NanoShape(multi_view=self.name == "any-view")
        self.net = NanoNet(shape)
        self.source = Source(options.state / "pictures", "train", options.seed, options.recoloured)
        pictures = self.source.batch(256, 1, options.width).picture
        whiten(self.net, pictures[:, 0])
        if options.start:
            elder = NanoNet(NanoShape())
            elder.load_state_dict(torch.load(options.state / options.start / "last.pt", weights_only=False)["average"])
            inherit(self.net, elder, pictures)
        self.average = {key: value.clone() for key, value in self.net.state_dict().items()}
        matrices = [p for n, p in self.net.backbone.named_parameters() if n.endswith("weight") and p.ndim == 2]
        chosen = {id(p) for p in matrices}
        others = [p for p in self.net.parameters() if id(p) not in chosen]
        self.optimisers = [
            torch.optim.Muon(matrices, lr=options.matrix_rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, lr=options.rate, weight_decay=0.02, betas=(0.9, 0.98)),
        ]
        self.random = np.random.default_rng(options.seed)
        self.source.random = np.random.default_rng([options.seed, rank, 0])

    def resume(self, which):
        path = self.folder / f"{which}.pt"
        if not path.exists():
            return
        saved = torch.load(path, weights_only=False)
        self.net.load_state_dict(saved["net"])
        self.average = saved["average"]
        for optimiser, state in zip(self.optimisers, saved["optimisers"]):
            optimiser.load_state_dict(state)
        self.step, self.pictures = saved["step"], saved["pictures"]
        self.random.bit_generator.state = saved["random"]
        self.source.random = np.random.default_rng([self.options.seed, self.rank, self.step])

    def save(self, which="last"):
        state = {
            "net": self.net.state_dict(),
            "average": self.average,
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "step": self.step,
            "pictures": self.pictures,
            "random": self.random.bit_generator.state,
        }
        partial = self.folder / "partial.tmp"
        torch.save(state, partial)
        partial.rename(self.folder / f"{which}.pt")

    def share(self):
        """The part of the highest learning rate that this step uses; 0 is the end."""
        if self.options.finish:
            return max(0.0, 1.0 - (time.monotonic() - self.began) / 60.0 / self.options.finish)
        left = (self.options.steps - self.step) / max(self.options.decay, 1)
        return min(1.0, (self.step + 1) / max(self.options.warm_up, 1), left)

    @property
    def ended(self):
        return self.step >= self.options.steps or self.share() <= 0.0

    def advance(self):
        """One step; the weighted loss terms as floats."""
        views = 1 if self.name == "metric" else int(self.random.choice((1, 2, 3), p=self.options.views))
        batch = self.source.batch(max(self.options.batch // views, 1), views, self.options.width)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.options.bfloat16), sdpa_kernel(SDPBackend.MATH):
            logits = self.net(batch.picture)  # short sequences: plain attention is faster than the fused one
        terms = (losses.metric if self.name == "metric" else losses.any_view)(logits, batch)
        for optimiser, highest in zip(self.optimisers, (self.options.matrix_rate, self.options.rate)):
            for group in optimiser.param_groups:
                group["lr"] = highest * self.share()
            optimiser.zero_grad()
        sum(terms.values()).backward()
        share_gradients(self.net.parameters())
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0, error_if_nonfinite=True)  # before it reaches weights and checkpoints
        for optimiser in self.optimisers:
            optimiser.step()
        self.step += 1
        self.pictures += batch.depth.shape[0] * views * self.options.workers
        self._average()
        return {key: float(value.detach()) for key, value in terms.items()}

    @torch.no_grad()
    def _average(self):
        keep = min(self.options.average, (1 + self.step) / (10 + self.step))
        for key, value in self.net.state_dict().items():
            self.average[key].lerp_(value, 1 - keep)


def run(training):
    """Train to `--steps`, with a line in `log.txt` now and then, a score on validation pictures, and a checkpoint every two minutes."""
    first = training.rank == 0
    with open(training.folder / "log.txt" if first else os.devnull, "a") as log:
        saved, ended = time.monotonic(), training.ended
        while not ended:
            _stretch(training, log)
            ended = training.ended  # asked once: by the clock it may come at any moment, and the last state must be saved
            if not first:
                continue
            if training.step % SCORE_EVERY == 0 or ended:
                score = quick_score(training.net, training.average, training.options.state / "pictures", training.options.width)
                print(f"step {training.step} validation {score}", file=log, flush=True)
            if time.monotonic() - saved > SAVE_EVERY or ended:
                training.save()
                saved = time.monotonic()


def _stretch(training, log):
    """Steps up to the next multiple of LOG_EVERY or the end, and their mean losses and speed as one line of the log."""
    options, began, counted, sums = training.options, time.monotonic(), training.pictures, {}
    count = min(LOG_EVERY - training.step % LOG_EVERY, options.steps - training.step)
    for _ in range(count):
        wait_while_paused(options.state)
        if training.rank == 0 and training.step == options.steps - options.decay and not options.finish:
            training.save("plateau")
        for key, value in training.advance().items():
            sums[key] = sums.get(key, 0.0) + value / count
    speed = (training.pictures - counted) / (time.monotonic() - began)
    terms = " ".join(f"{key} {value:.4f}" for key, value in sums.items())
    line = f"step {training.step} pictures {training.pictures} width {options.width} rate {training.share():.2f} {speed:.1f}/s {terms}"
    print(line, file=log, flush=True)
    if training.rank == 0:
        print(f"\r{training.step / options.steps:6.1%} {line}", end="", flush=True)
    training.source.refresh()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=("any-view", "metric"), required=True)
    parser.add_argument("--state", type=Path, default=STATE, help="folder for pictures and checkpoints")
    parser.add_argument("--start", choices=("any-view",), help="start the metric net from this one")
    parser.add_argument("--resume", choices=("last", "plateau"), default="last")
    parser.add_argument("--steps", type=int, default=8000, help="step at which training ends")
    parser.add_argument("--decay", type=int, default=2000, help="last steps, over which the learning rate falls")
    parser.add_argument("--finish", type=float, default=0.0, metavar="MINUTES", help="fall from now on and end by the clock (one worker)")
    parser.add_argument("--warm-up", type=int, default=200)
    parser.add_argument("--width", type=int, default=168, help="picture width, a multiple of 56; height is 3/4 of it")
    parser.add_argument("--batch", type=int, default=16, help="pictures per step")
    parser.add_argument("--rate", type=float, default=1e-3, help="highest learning rate of AdamW: convolutions, norms, biases, heads")
    parser.add_argument("--matrix-rate", type=float, default=2.5e-3, help="highest learning rate of Muon: the matrices of the backbone")
    parser.add_argument("--average", type=float, default=0.999, help="decay of the moving average of the weights")
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread; each adds a batch to every step")
    parser.add_argument("--views", type=float, nargs=3, default=(0.8, 0.1, 0.1), help="shares of steps with 1, 2 and 3 views (any-view)")
    parser.add_argument("--recoloured", type=float, default=1.0, help="share of the pictures that are recoloured")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bfloat16", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args(arguments)
    if options.finish and options.workers > 1:
        parser.error("--finish is for one worker: each has a clock of its own, and all must take the same steps")
    if options.resume == "plateau" and not (options.state / options.net / "plateau.pt").exists():
        parser.error(f"there is no plateau.pt in {options.state / options.net}; from nothing it would begin anew over last.pt")
    for split in ("train", "validation"):
        load(options.state / "pictures", split)  # here, and not when the first score is due
    (options.state / options.net).mkdir(parents=True, exist_ok=True)
    start(work, options, options.state / options.net)


def work(rank, options):
    """What every process does."""
    torch.set_num_threads(1)
    training = Training(options, rank)
    training.resume(options.resume)
    run(training)


if __name__ == "__main__":
    main()
