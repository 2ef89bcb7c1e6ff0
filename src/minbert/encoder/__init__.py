"""The encoder, its pretrained weights, and the device it runs on."""
