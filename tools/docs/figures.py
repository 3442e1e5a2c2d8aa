"""Figures that the program draws, for pages of docs/ that show them: figures/NAME.svg."""

import subprocess

# Wirings with the card held fixed, and a node as it is sold.
WIRINGS = ("dgx-a100-80gb", "a100-80gb-pcie-4x-pairs", "a100-80gb-pcie-4x-host", "a100-80gb-pcie-4x-no-p2p")


def pages(program):
    for node in WIRINGS:
        done = subprocess.run([str(program), "topology", "show", node, "--svg"], check=True, capture_output=True, text=True, timeout=60)
        yield f"figures/{node}.svg", done.stdout
