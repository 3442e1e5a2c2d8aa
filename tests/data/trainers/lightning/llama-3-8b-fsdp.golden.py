# Lightning's Trainer of the plan.
import lightning as L
from lightning.pytorch.strategies import FSDPStrategy
from torch.utils.data import DataLoader

from your_training import Block, dataset, module  # the model's layer, the data, the LightningModule

trainer = L.Trainer(
    accelerator="gpu",
    devices=8,
    num_nodes=1,
    precision="bf16-mixed",
    accumulate_grad_batches=8,
    strategy=FSDPStrategy(
        sharding_strategy="FULL_SHARD",
        auto_wrap_policy={Block},
        activation_checkpointing_policy={Block},
        state_dict_type="sharded",
    ),
)

if __name__ == "__main__":
    batches = DataLoader(dataset, batch_size=1)
    trainer.fit(module, batches)
