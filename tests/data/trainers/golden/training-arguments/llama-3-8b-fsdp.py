# Written by wireplan; learning rate, data and checkpoints are yours to add.
from transformers import TrainingArguments

training_args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=1,
    gradient_accumulation_steps=8,
    bf16=True,
    optim="adamw_torch_fused",
    max_grad_norm=1,
    fsdp=True,
    fsdp_config={"version": 2, "reshard_after_forward": True, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "cpu_offload": False, "activation_checkpointing": True, "cpu_ram_efficient_loading": True, "state_dict_type": "SHARDED_STATE_DICT"},
    accelerator_config={"gradient_accumulation_kwargs": {"sync_each_batch": True}},
)
