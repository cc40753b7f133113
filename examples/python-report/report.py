# SPDX-License-Identifier: Apache-2.0
"""Reads daily weather, writes report.md and a plot: by Pygal where that is installed, else by hand."""

import csv
import statistics
import sys
from collections import defaultdict


def read_days(path):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            yield {"date": row["date"], "weather": row["weather"],
                   **{key: float(row[key]) for key in ("precipitation", "temp_max", "temp_min", "wind")}}


def summarize(days):
    months = defaultdict(list)
    for day in days:
        months[day["date"][:7]].append(day)
    return [{
        "month": month,
        "low": min(day["temp_min"] for day in of_month),
        "mean": statistics.fmean((day["temp_min"] + day["temp_max"]) / 2 for day in of_month),
        "high": max(day["temp_max"] for day in of_month),
        "rain": sum(day["precipitation"] for day in of_month),
        "wet_days": sum(day["precipitation"] > 0 for day in of_month),
    } for month, of_month in sorted(months.items())]


def correlation(xs, ys):
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = (sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)) ** 0.5
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / spread


def write_report(path, days, months, plot):
    warmest = max(days, key=lambda day: day["temp_max"])
    coldest = min(days, key=lambda day: day["temp_min"])
    wettest = max(days, key=lambda day: day["precipitation"])
    link = correlation([m["mean"] for m in months], [m["rain"] for m in months])
    with open(path, "w") as out:
        out.write(f"# Weather, {days[0]['date']} to {days[-1]['date']}\n\n")
        out.write(f"{len(days)} days. Warmest {warmest['date']} ({warmest['temp_max']} C), "
                  f"coldest {coldest['date']} ({coldest['temp_min']} C), "
                  f"wettest {wettest['date']} ({wettest['precipitation']} mm).\n")
        out.write(f"Monthly rain and temperature go together with r = {link:.2f}.\n\n")
        out.write("| month | low C | mean C | high C | rain mm | wet days |\n|---|---|---|---|---|---|\n")
        for m in months:
            out.write(f"| {m['month']} | {m['low']:.1f} | {m['mean']:.1f} | {m['high']:.1f} "
                      f"| {m['rain']:.0f} | {m['wet_days']} |\n")
        out.write(f"\n![temperature]({plot})\n")


def plot_with_pygal(days, path):
    import pygal
    chart = pygal.Line(title="Daily lows and highs", y_title="degrees C", width=1100, height=400, show_dots=False,
                       show_minor_x_labels=False, truncate_label=10, js=[])
    chart.x_labels = [day["date"] for day in days]
    chart.x_labels_major = [day["date"] for day in days if day["date"].endswith("-01")][::3]
    chart.add("high", [day["temp_max"] for day in days])
    chart.add("low", [day["temp_min"] for day in days])
    chart.render_to_file(path)


def plot_by_hand(days, path):
    width, height, low, high = 1100, 400, -15, 40

    def point(i, value):
        return f"{i * width / (len(days) - 1):.1f},{height * (high - value) / (high - low):.1f}"
    edge = [point(i, d["temp_max"]) for i, d in enumerate(days)]
    edge += [point(i, d["temp_min"]) for i, d in reversed(list(enumerate(days)))]
    with open(path, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
                  f'<rect width="100%" height="100%" fill="white"/>'
                  f'<polygon points="{" ".join(edge)}" fill="steelblue" fill-opacity="0.5"/>')
        for value in range(low, high + 1, 5):
            y = height * (high - value) / (high - low)
            out.write(f'<line x2="{width}" y1="{y}" y2="{y}" stroke="#ccc"/><text y="{y}">{value}</text>')
        out.write("</svg>\n")


def main():
    days = list(read_days(sys.argv[1]))
    plot = "temperature.svg"
    try:
        plot_with_pygal(days, plot)
    except ImportError:
        print("no Pygal here: drawing by hand")
        plot_by_hand(days, plot)
    write_report("report.md", days, summarize(days), plot)
    print(f"read {len(days)} days, wrote report.md and {plot}")


main()
