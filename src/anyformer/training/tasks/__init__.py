"""Tasks: hidden words, classes of texts, answers in a text; pre-training and fine-tuning with them."""
