"""What is learned: words that are hidden, classes of texts, answers in a text; pre-training and fine-tuning by them."""
