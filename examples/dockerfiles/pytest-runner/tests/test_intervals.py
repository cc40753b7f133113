import pytest

from intervals import merge


@pytest.mark.parametrize("given, merged", [
    ([], []),
    ([(1, 3), (2, 5)], [(1, 5)]),
    ([(6, 7), (1, 2), (2, 3)], [(1, 3), (6, 7)]),
])
def test_overlapping_intervals_are_merged(given, merged):
    assert merge(given) == merged


def test_an_interval_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError):
        merge([(2, 1)])
