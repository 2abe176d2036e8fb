"""Training BERTs with any token mixers: from text or labelled pairs to a model, from a laptop to a cluster.

Needs `pip install anyformer[train]`.
"""

from anyformer.errors import TrainingError
from anyformer.extras import require

for package in ("torch", "transformers", "accelerate", "filelock"):
    require(package, extra="train", what="training")

from anyformer.training.data.corpora import open_corpus
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.pairs import Pairs, join_pairs, read_all_pairs, read_pairs, split_pairs
from anyformer.training.data.questions import Question, read_questions, split_questions
from anyformer.training.data.synthetic.language import SyntheticLanguage
from anyformer.training.data.vocabulary import load_tokenizer, train_tokenizer
from anyformer.training.run.folder import RunFolder
from anyformer.training.run.recipe import SIZES, Architecture, Recipe, Schedule, Text
from anyformer.training.run.recipe_files import parse_mixers, read_recipe
from anyformer.training.tasks.finetune import finetune
from anyformer.training.tasks.pretrain import Prepared, prepare, prepare_run, pretrain

__all__ = [
    "SIZES",
    "Architecture",
    "Corpus",
    "Pairs",
    "Prepared",
    "Question",
    "Recipe",
    "RunFolder",
    "Schedule",
    "SyntheticLanguage",
    "Text",
    "TrainingError",
    "finetune",
    "join_pairs",
    "load_tokenizer",
    "open_corpus",
    "parse_mixers",
    "prepare",
    "prepare_run",
    "pretrain",
    "read_all_pairs",
    "read_pairs",
    "read_questions",
    "read_recipe",
    "split_pairs",
    "split_questions",
    "train_tokenizer",
]
