"""What is trained on: text, labelled pairs and questions, and the tokenizer between them and a model."""
