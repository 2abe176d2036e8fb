"""Training data: text, labelled pairs and questions, and the tokenizer that prepares them for a model."""
