# Written by wireplan; learning rate, data and checkpoints are yours to add.
from transformers import TrainingArguments

training_args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    bf16=True,
    optim="adamw_torch_fused",
    max_grad_norm=1,
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},
    deepspeed={"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "bf16": {"enabled": True}, "gradient_clipping": 1, "zero_optimization": {"stage": 3}},
)
