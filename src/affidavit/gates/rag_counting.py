"""Items into counts: sums over profiles, and the names that stand in a report."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest

from affidavit.gates.rag_counts import LISTED_BY, TOP, RagCounts, Rank, is_offender, rank_of
from affidavit.gates.rag_profiles import Profile, profile_of
from affidavit.gates.tally import NOTHING_LISTED, Listing, listing_of


def counts_of(items: Iterable[tuple[str, Profile]]) -> RagCounts:
    """Return the counts of items, each with its qid; one pass."""
    profiles: Counter[Profile] = Counter()
    named = _Named()
    for qid, profile in items:
        profiles[profile] += 1
        if named.wants(profile):
            named.take(qid, profile)
    return named.counts(profiles)


def counts_of_codes(
    qids: Iterable[str],
    codes: Sequence[int],
    *,
    traces: int = 0,
    duplicates: int = 0,
    strays: Listing = NOTHING_LISTED,
) -> RagCounts:
    """Return the counts of items whose profiles are given by their codes: quick for millions."""
    counted = Counter(codes)
    named = _Named()
    wanted = {code for code in counted if named.wants(profile_of(code))}
    for qid, code in zip(qids, codes, strict=True):
        if code in wanted:
            named.take(qid, profile_of(code))
    profiles = {profile_of(code): count for code, count in counted.items()}
    return replace(named.counts(profiles), traces=traces, duplicates=duplicates, strays=strays)


class _Named:
    """The items that stand in a report by their name; which profiles do is found out once each."""

    def __init__(self) -> None:
        self._listed: dict[str, list[str]] = {name: [] for name in LISTED_BY}
        self._failed: dict[Profile, list[str]] = {}
        self._kinds: dict[Profile, tuple[str, ...]] = {}

    def wants(self, profile: Profile) -> bool:
        if profile not in self._kinds:
            kinds = [name for name, belongs in LISTED_BY.items() if belongs(profile)]
            if is_offender(profile):
                self._failed[profile] = []
            self._kinds[profile] = tuple(kinds)
        return bool(self._kinds[profile]) or profile in self._failed

    def take(self, qid: str, profile: Profile) -> None:
        for name in self._kinds[profile]:
            self._listed[name].append(qid)
        if profile in self._failed:
            self._failed[profile].append(qid)

    def counts(self, profiles: Mapping[Profile, int]) -> RagCounts:
        return RagCounts(
            dict(profiles),
            {name: listing_of(names) for name, names in self._listed.items() if names},
            tuple(nsmallest(TOP, self._ranked())),
        )

    def _ranked(self) -> Iterator[Rank]:
        for profile, qids in self._failed.items():
            yield from (rank_of(qid, profile) for qid in nsmallest(TOP, qids))
