"""What a trained model predicts, how good that is, and how sure one can be of it."""
