# SPDX-License-Identifier: Apache-2.0
"""Reads daily weather, writes report.md and a plot: by Matplotlib when there is one, else as SVG."""

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


def plot_with_matplotlib(days, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    numbers = range(len(days))
    figure, axes = pyplot.subplots(figsize=(11, 4))
    axes.fill_between(numbers, [d["temp_min"] for d in days], [d["temp_max"] for d in days], alpha=0.4)
    axes.set_xticks([i for i, d in enumerate(days) if d["date"].endswith("-01")][::3],
                    [d["date"][:7] for d in days if d["date"].endswith("-01")][::3])
    axes.set_ylabel("degrees C")
    axes.set_title("Daily lows and highs")
    figure.savefig(path, dpi=100)


def plot_as_svg(days, path):
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
    try:
        plot = "temperature.png"
        plot_with_matplotlib(days, plot)
    except ImportError:
        plot = "temperature.svg"
        print("no Matplotlib here: drawing by hand")
        plot_as_svg(days, plot)
    write_report("report.md", days, summarize(days), plot)
    print(f"read {len(days)} days, wrote report.md and {plot}")


main()
