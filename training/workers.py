"""Several processes that train one net: each has its own pictures, and all take the same step along the mean of their gradients.

Processes of one thread each keep cores busy that other jobs share, where threads would wait for one another at every operation.
"""

from datetime import timedelta

import torch
from torch import distributed, multiprocessing

LONGEST_PAUSE = timedelta(days=7)


def start(work, options, folder):
    """Call `work(rank, options)` in `options.workers` processes that can meet in `folder`; in this one if it is alone."""
    if options.workers == 1:
        work(0, options)
        return
    meeting = folder / "meeting.tmp"
    meeting.unlink(missing_ok=True)
    multiprocessing.spawn(_join, (work, options, meeting), options.workers)


def _join(rank, work, options, meeting):
    address = f"file://{meeting}"
    distributed.init_process_group("gloo", address, LONGEST_PAUSE, options.workers, rank)
    work(rank, options)
    distributed.destroy_process_group()


def share_gradients(parameters):
    """Replace every gradient by its mean over the processes."""
    if not distributed.is_initialized():
        return
    parameters = [p for p in parameters if p.grad is not None]
    flat = torch.cat([p.grad.flatten() for p in parameters])
    distributed.all_reduce(flat)
    for p, gradient in zip(parameters, flat.div_(distributed.get_world_size()).split([p.numel() for p in parameters])):
        p.grad.copy_(gradient.view_as(p))
