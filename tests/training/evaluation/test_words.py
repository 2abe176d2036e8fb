"""Hidden words of a whole text: every window once, and the same whatever the batch."""

import numpy as np
import pytest
import torch
from torch import nn

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average
from anyformer.training import Architecture, Schedule, Text
from anyformer.training.evaluation.words import measure_words, windows_in
from anyformer.training.tasks.masked_words import EVALUATED, IGNORED, MaskedWords, framed, hidden
from tests.training.tasks.test_masked_words import MARKS, MASK

IDS = np.random.default_rng(7).integers(5, 300, 1000).astype(np.uint16)


def model_of() -> nn.Module:
    from anyformer.mixers.bert import MixerBertForPreTraining

    torch.manual_seed(2)
    architecture = Architecture(2, 16, 2, 300, 24, mixers=(Average(), Attention(heads=2)))
    config = architecture.config()
    config.initializer_range = 0.3
    return MixerBertForPreTraining(config)


class Recorder(nn.Module):
    """Stands in for a model: it notes what it is given and finds a word if that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.seen: list[torch.Tensor] = []
        self.cls = nn.Module()
        self.cls.predictions = lambda ids: nn.functional.one_hot(ids[:, 0].long(), 300).float()
        self.cls.seq_relationship = lambda pooled: torch.zeros(len(pooled), 2)

    def bert(self, input_ids, token_type_ids=None):
        self.seen.append(input_ids)

        class Outputs:
            last_hidden_state = input_ids[:, :, None].float()
            pooler_output = input_ids

        return Outputs


@pytest.mark.parametrize(("following", "words"), [(False, 18), (True, 17)])
def test_every_word_of_the_text_is_seen_once_and_in_order(following, words):
    recorder, text = Recorder(), Text(tokens=20, following=following)
    scores = measure_words(recorder, IDS, MARKS, text, at_once=9)
    assert len(scores.losses) == windows_in(IDS, text) == 1000 // words
    shown = torch.cat(recorder.seen).numpy()
    marks = [0, 19] if not following else [0, 9, 19]
    assert set(shown[:, marks].ravel()) == {MARKS.start, MARKS.end}
    seen = np.delete(shown, marks, axis=1).ravel()
    wanted = IDS[: len(seen)]
    asked = (seen != wanted).sum()
    assert scores.words == 3 * len(scores.losses)
    # A tenth of the hidden words stay as they are, and Recorder finds those alone.
    assert scores.accuracy == pytest.approx(1 - asked / scores.words)
    assert 0.8 < asked / scores.words < 1


def test_what_a_window_hides_follows_from_its_number_alone():
    text, whole, part = Text(tokens=20), Recorder(), Recorder()
    measure_words(whole, IDS, MARKS, text, at_once=64)
    measure_words(part, IDS[: 18 * 11], MARKS, text, at_once=3)
    np.testing.assert_array_equal(torch.cat(part.seen), torch.cat(whole.seen)[:11])


def test_how_many_are_taken_at_once_changes_nothing():
    model, text = model_of().train(), Text(tokens=20)
    one, other = (measure_words(model, IDS, MARKS, text, at_once) for at_once in (64, 5))
    assert model.training
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-5)
    np.testing.assert_array_equal(one.accuracies, other.accuracies)
    assert one.losses.std() > 0.01, "equal losses would hide a wrong order"
    assert (one.loss, one.accuracy) == (one.losses.mean(), one.accuracies.mean())


def test_a_window_s_loss_is_that_of_its_hidden_words():
    from anyformer.training.run import seeds

    model, text = model_of().eval(), Text(tokens=20)
    losses = measure_words(model, IDS, MARKS, text).losses
    words = IDS[None, 54:72].astype(np.int64)
    batch = hidden(framed(words, MARKS, text), MARKS, text, seeds.generator("measured", 3))
    assert (batch["labels"] != IGNORED).sum() == text.hidden
    with torch.no_grad():
        assert float(model(**batch).loss) == pytest.approx(losses[3], rel=1e-5)


def test_a_text_without_a_window_is_refused():
    with pytest.raises(TrainingError, match="at least one sequence of 32 tokens"):
        measure_words(model_of(), IDS[:31], MARKS, Text(tokens=32))


@pytest.mark.parametrize("following", [False, True])
def test_training_evaluates_the_same_windows_for_every_batch_size(following):
    seen, measured = [], []
    for batch in (3, 100):
        recorder = Recorder()
        task = MaskedWords(IDS, IDS, MARKS, Text(tokens=20, following=following), Schedule(batch=batch))
        measured.append(task.evaluate(recorder))
        seen.append(torch.cat(recorder.seen))
    assert len(seen[0]) == len(seen[1]) == EVALUATED
    assert (seen[0] == seen[1]).all()
    assert measured[0] == measured[1]
    assert ("following_accuracy" in measured[0]) == following
    assert (seen[0] == MASK).any()
