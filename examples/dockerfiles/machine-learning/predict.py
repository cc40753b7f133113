"""Tells the digit in 64 pixels (0 to 16), one digit per line, of standard input or of a connection."""

import json
import socketserver
import sys

import numpy as np

with open("model.json", encoding="utf-8") as file:
    model = json.load(file)
weights, bias = np.array(model["weights"]), np.array(model["bias"])


def predict(pixels):
    pixels = np.array(pixels, dtype=float)
    if pixels.shape != (64,):
        raise ValueError("a digit has 64 pixels")
    return int(np.argmax(weights @ (pixels / 16) + bias))


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            try:
                answer = predict(line.split())
            except ValueError as wrong:
                answer = f"error: {wrong}"
            self.wfile.write(f"{answer}\n".encode())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    for line in sys.stdin:
        print(predict(line.split()))
