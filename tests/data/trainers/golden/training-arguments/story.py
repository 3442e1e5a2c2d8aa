# Written by wireplan; learning rate, data and checkpoints are yours to add.
from transformers import TrainingArguments

training_args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=1,
    gradient_accumulation_steps=16,
    bf16=False,
    optim="adamw_torch_fused",
    max_grad_norm=1,
    gradient_checkpointing=False,
)
