"""Fits a classifier of handwritten digits and writes its numbers as JSON."""

import json
import sys

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

digits = load_digits()
seen, unseen, seen_labels, unseen_labels = train_test_split(
    digits.data / 16, digits.target, test_size=0.25, random_state=0)
model = LogisticRegression(max_iter=300).fit(seen, seen_labels)
accuracy = model.score(unseen, unseen_labels)
print(f"accuracy {accuracy:.3f} on {len(unseen)} unseen digits")
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"accuracy": accuracy, "weights": model.coef_.tolist(), "bias": model.intercept_.tolist(),
               "sample": (unseen[0] * 16).tolist(), "label": int(unseen_labels[0])}, file)
