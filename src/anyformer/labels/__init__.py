"""What every stage, head, channel and hidden unit of a network computes, with true values for any input."""

from anyformer.labels.label import Label
from anyformer.labels.labels import FILE, Labels, labels_from_json, read_labels
from anyformer.labels.making import labels_of, labels_of_network
from anyformer.labels.place import EMBEDDING, KINDS, Place
from anyformer.labels.values import Pair, Values

__all__ = [
    "EMBEDDING",
    "FILE",
    "KINDS",
    "Label",
    "Labels",
    "Pair",
    "Place",
    "Values",
    "labels_from_json",
    "labels_of",
    "labels_of_network",
    "read_labels",
]
