const express = require("express");

const notes = new Map();
const app = express();
app.use(express.json({ limit: "10kb" }));

app.get("/health", (request, response) => response.send("fine"));

app.put("/notes/:name", (request, response) => {
  if (typeof request.body?.text !== "string") {
    return response.status(400).json({ error: "text is missing" });
  }
  notes.set(request.params.name, request.body.text);
  response.status(204).end();
});

app.get("/notes/:name", (request, response) => {
  const text = notes.get(request.params.name);
  if (text === undefined) return response.status(404).json({ error: "no such note" });
  response.json({ text });
});

app.listen(3000, () => console.log("listening on 3000"));
