"""PyTorch as the other side of a comparison: the modules of a network are paired with the layers of its export."""
