"""A guest book in memory."""

from flask import Flask, jsonify, request

app = Flask(__name__)
guests = []


@app.get("/health")
def health():
    return "fine\n"


@app.post("/guests")
def sign():
    name = (request.get_json(silent=True) or {}).get("name", "").strip()
    if not name or len(name) > 80:
        return jsonify(error="name takes 1 to 80 characters"), 400
    guests.append(name)
    return jsonify(guests=guests), 201


@app.get("/guests")
def book():
    return jsonify(guests=guests)
