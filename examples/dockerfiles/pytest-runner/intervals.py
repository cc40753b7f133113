"""Merges overlapping intervals."""


def merge(intervals):
    merged = []
    for begin, end in sorted(intervals):
        if begin > end:
            raise ValueError(f"({begin}, {end}) ends before it begins")
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
