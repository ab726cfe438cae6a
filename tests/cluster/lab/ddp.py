"""One rank of a real PyTorch job: DistributedDataParallel over gloo, one process on each node, a checkpoint of every rank every other step.

The environment sets STEPS, SAVE (a folder; no checkpoints without it), FAULT (`exception` or nothing) and FAULT_RANK.
"""

import logging
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANK, WORLD = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
STEPS = int(os.environ.get("STEPS", "10"))
FAULT_STEP = 4
log = logging.getLogger()


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=f"%(asctime)s [rank{RANK}] %(levelname)s %(message)s")
    torch.manual_seed(RANK)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD, timeout=timedelta(seconds=120))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1)))
    optimizer = torch.optim.Adam(model.parameters())
    Path("/tmp/rank.pid").write_text(str(os.getpid()))
    for step in range(1, STEPS + 1):
        loss = train_step(model, optimizer, step)
        log.info("step %d/%d loss %.4f", step, STEPS, loss)
        if os.environ.get("SAVE") and step % 2 == 0:
            save(model, optimizer, step)
        time.sleep(0.5)
    dist.destroy_process_group()
    log.info("training finished")


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> float:
    rows = 16
    features, target = torch.randn(rows, 512), torch.randn(rows, 1)
    if os.environ.get("FAULT") == "exception" and step == FAULT_STEP and int(os.environ["FAULT_RANK"]) == RANK:
        features = features[:, :500]  # a shard whose samples are too short
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(features), target)
    loss.backward()
    optimizer.step()
    return float(loss)


def save(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    path = Path(os.environ["SAVE"]) / f"rank{RANK}.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)
    log.info("saved %s", path)


if __name__ == "__main__":
    main()
