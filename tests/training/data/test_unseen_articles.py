"""Articles of which no model has seen a part: a passage in common leaves one out, whatever its case and marks."""

import json

from benchmarks.unseen_articles import TOGETHER, unseen_articles

WORDS = [f"word{number}" for number in range(60)]


def squad(place, articles):
    data = [
        {
            "title": title,
            "paragraphs": [
                {"context": one, "qas": [{"id": f"{title}{n}{k}", "question": "what", "answers": []} for k in range(2)]}
                for n, one in enumerate(paragraphs)
            ],
        }
        for title, paragraphs in articles.items()
    ]
    place.write_text(json.dumps({"data": data}))
    return place


def test_a_run_of_words_in_common_leaves_an_article_out(tmp_path):
    run, short = WORDS[:TOGETHER], WORDS[20 : 20 + TOGETHER - 1]
    articles = {
        "Seen": ["Nothing here.", f"Before: {', '.join(run).upper()}; after."],
        "Close": [f"As {' '.join(short)} goes."],
        "New": ["One paragraph.", "Another one."],
        "Copy": [" ".join(run)],
    }
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("no words at all\n")
    second.write_text(f"so {' '.join(run)} and {' '.join(short)}\n")
    kept, seen = unseen_articles(squad(tmp_path / "squad.json", articles), [first, second])
    assert seen == ["Copy", "Seen"]
    assert kept == {"Close": articles["Close"], "New": articles["New"]}
