import unittest

import predict


class Predict(unittest.TestCase):
    def test_accuracy(self):
        self.assertGreater(predict.model["accuracy"], 0.93)

    def test_sample(self):
        self.assertEqual(predict.predict(predict.model["sample"]), predict.model["label"])

    def test_wrong_size(self):
        with self.assertRaises(ValueError):
            predict.predict([1, 2, 3])
