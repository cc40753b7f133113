"""Converts temperatures; FastAPI checks the query."""

from enum import Enum

from fastapi import FastAPI, Query

app = FastAPI(title="Temperatures")


class Unit(str, Enum):
    celsius = "celsius"
    fahrenheit = "fahrenheit"


@app.get("/convert")
def convert(value: float = Query(..., ge=-500, le=5000), to: Unit = Unit.fahrenheit):
    if to is Unit.fahrenheit:
        return {"value": round(value * 9 / 5 + 32, 2), "unit": to}
    return {"value": round((value - 32) * 5 / 9, 2), "unit": to}
