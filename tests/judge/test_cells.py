"""Claims about cells of tables: of the right cell or a neighbour, compared, and of no cell.

The truth of every claim was written down before the rule was run on it. The rule may be silent on a
claim about a cell, but it is never wrong, and it decides most of them.
"""

import json
import time
from collections import Counter
from functools import cache

import pytest
from tests.repository import ROOT

from affidavit.documents.model import DocumentSettings, IngestedDocument
from affidavit.documents.reading import read_chunks
from affidavit.judge.cells import CellFinding, read_cells

T, F, SILENT = True, False, None

TABLES: dict[str, tuple[str, ...]] = {
    "planets": (
        "The planets of the inner solar system. Distances are in kilometres.\n\n"
        "| Planet: Mercury; Diameter (km): 4,879; Moons: 0; "
        "Day (hours): 4222.6; Mean temperature (C): 167. |\n"
        "| Planet: Venus; Diameter (km): 12,104; Moons: 0; "
        "Day (hours): 2802.0; Mean temperature (C): 464. |\n"
        "| Planet: Earth; Diameter (km): 12,756; Moons: 1; Day (hours): 24.0; "
        "Mean temperature (C): 15. |\n"
        "| Planet: Mars; Diameter (km): 6,792; Moons: 2; Day (hours): 24.7; "
        "Mean temperature (C): -65. |",
    ),
    "plans": (
        "Prices of the plans, in euros per month.\n\n"
        "| Plan: Starter; Seats: 3; Price: 9; Storage: 10 GB; Support: e-mail. |\n"
        "| Plan: Team; Seats: 20; Price: 49; Storage: 200 GB; Support: chat. |\n"
        "| Plan: Enterprise; Seats: 500; Price: 399; Storage: 5 TB; Support: telephone. |",
    ),
    "rainfall": (
        "Monthly rainfall in millimetres, measured in Bergen.\n\n"
        "| Year: 2015; Jan: 312; Feb: 198; Mar: 240; Apr: 121. |\n"
        "| Year: 2016; Jan: 255; Feb: 160; Mar: 98; Apr: 144. |",
        "| Year: 2016; Jan: 255; Feb: 160; Mar: 98; Apr: 144. |\n"
        "| Year: 2017; Jan: 277; Feb: 203; Mar: 231; Apr: 187. |",
    ),
    "trains": (
        "Departures from Bern on weekdays, shown in local time.\n\n"
        "| Train: IC 8; Destination: Zurich; Departs: 10:02; Arrives: 10:58; Platform: 4. |\n"
        "| Train: RE 41; Destination: Luzern; Departs: 10:14; Arrives: 11:20; Platform: 11. |\n"
        "| Train: IR 65; Destination: Biel; Departs: 10:37; Arrives: 11:05; Platform: 7. |",
    ),
    "codecs": (
        "Results of the codec benchmark on one core.\n\n"
        "| Codec: zlib; Level: 1; Ratio: 2.74; Speed (MB/s): 105; Memory: 256 KB. |\n"
        "| Codec: zlib; Level: 6; Ratio: 3.10; Speed (MB/s): 38; Memory: 256 KB. |\n"
        "| Codec: lz4; Level: 1; Ratio: 2.10; Speed (MB/s): 740; Memory: 16 KB. |\n"
        "| Codec: xz; Level: 6; Ratio: 3.92; Speed (MB/s): 3.1; Memory: 94 MB. |",
    ),
    "settings": (
        "Table 3.1 gives the defaults of the scheduler.\n\n"
        "Limits = (4, 8)\n\nretries = 3\n\ntimeout = 30 workers = 8\n\nload = 0.75",
    ),
    "exports": (
        "Exports by country, in thousands of tonnes.\n\n"
        "| Norway: Wheat: 12.5; Barley: 88.0; Fish: 2,604.3. |\n"
        "| Iceland: Wheat: 0.1; Barley: 3.2; Fish: 1,120.9. |\n"
        "| Denmark: Wheat: 4,210.0; Barley: 3,377.5; Fish: 910.4. |",
    ),
    "releases": (
        "Releases of the Larkspur server and their support.\n\n"
        "| Release: 2.0; Code name: Aster; Released: 2019-04-02; "
        "End of support: 2021-04-30; Python: 3.6. |\n"
        "| Release: 3.0; Code name: Begonia; Released: 2021-02-16; "
        "End of support: 2023-06-30; Python: 3.7. |\n"
        "| Release: 4.0; Code name: Clover; Released: 2023-05-09; "
        "End of support: 2026-05-31; Python: 3.9. |",
    ),
    "registers": (
        "Registers of the timer, with their reset values.\n\n"
        "| Register: TCNT; Offset: 0x10; Width: 16 bits; Access: read only. |\n"
        "| Register: TCTL; Offset: 0x14; Width: 32 bits; Access: read and write. |\n"
        "| Register: TCMP; Offset: 0x18; Width: 64 bits; Access: write only. |",
    ),
    "schools": (
        "Schools of the district in 2018.\n\n"
        "| School: Hill Street; Pupils: 412; Teachers: 28; Absence (%): 4.1; Founded: 1911. |\n"
        "| School: Lake Road; Pupils: 655; Teachers: 41; Absence (%): 3.6; Founded: 1954. |\n"
        "| School: Lake Road Annex; Pupils: 98; Teachers: 7; Absence (%): 5.2; Founded: 1988. |\n"
        "| School: Old Mill; Pupils: 230; Teachers: 17; Absence (%): 6.0; Founded: 1899. |",
    ),
    "events": (
        "Events of the scheduler.\n\n"
        "| Event: jobStart; Description: a job starts; Mean delay: 12 ms; Queue: high. |\n"
        "| Event: jobEnd; Description: a job ends; Mean delay: 30 ms; Queue: low. |\n"
        "| Event: queueFull; Description: the queue has no room; "
        "Mean delay: 450 ms; Queue: high. |",
    ),
    "shells": (
        "Shells from the north shore. All sizes are in mm.\n\n"
        "| shell length: Min: 12.5; Max: 48.0; Mean: 30.2; SD: 4.1. |\n"
        "| shell width: Min: 8.0; Max: 31.5; Mean: 19.9; SD: 3.3. |\n"
        "| hinge length: Min: 2.1; Max: 9.4; Mean: 5.0; SD: 1.2. |",
    ),
    "load": (
        "Load test of the proxy.\n\n"
        "| Mode: Safe; Users: 50; Pages/sec: 900; Delay (mean): 40ms. |\n"
        "| Mode: Safe; Users: 500; Pages/sec: 1,150; Delay (mean): 210ms. |\n"
        "| Mode: Low Latency; Users: 50; Pages/sec: 1,300+; Delay (mean): 22ms. |\n"
        "| Mode: Low Latency; Users: 500; Pages/sec: 2,400; Delay (mean): 130ms. |",
    ),
}

CLAIMS: list[tuple[str, str, bool | None]] = [
    ("planets", "The diameter of Mars is 6,792 km.", T),
    ("planets", "Mars has a diameter of 6792 kilometres.", T),
    ("planets", "Mars has a diameter of 12,756 km.", F),
    ("planets", "The diameter of Venus is 464 km.", F),
    ("planets", "Venus has a diameter of 12,104 miles.", F),
    ("planets", "Mars has two moons.", T),
    ("planets", "Mars has 1 moon.", F),
    ("planets", "A day on Mars lasts 24.7 hours.", T),
    ("planets", "A day on Mars lasts 24.0 hours.", F),
    ("planets", "A day on Mars lasts 24.7 minutes.", F),
    ("planets", "The average temperature on Venus is 464 degrees Celsius.", T),
    ("planets", "The average temperature on Venus is 464 degrees Fahrenheit.", F),
    ("planets", "The mean temperature of Mars is -65.", T),
    ("planets", "The mean temperature of Mars is 15.", F),
    ("planets", "Earth has a larger diameter than Venus.", T),
    ("planets", "Mars has a larger diameter than Venus.", F),
    ("planets", "Venus is warmer than Mercury.", T),
    ("planets", "Mercury is warmer than Venus.", F),
    ("planets", "Earth is colder than Mars.", F),
    ("planets", "The diameter of Earth is 652 km larger than that of Venus.", T),
    ("planets", "The diameter of Earth is 562 km larger than that of Venus.", F),
    ("planets", "Mars was first photographed in 1965.", SILENT),
    ("planets", "Jupiter has a diameter of 142,984 km.", SILENT),
    ("planets", "Mars has an atmosphere of carbon dioxide.", SILENT),
    ("plans", "The Team plan costs 49 euros per month.", T),
    ("plans", "The Team plan costs 399 euros per month.", F),
    ("plans", "The Team plan has 20 seats.", T),
    ("plans", "The Team plan has 49 seats.", F),
    ("plans", "The Starter plan includes 10 GB of storage.", T),
    ("plans", "The Starter plan includes 200 GB of storage.", F),
    ("plans", "The Enterprise plan includes 5 GB of storage.", F),
    ("plans", "The Enterprise plan includes 5 TB of storage.", T),
    ("plans", "The Starter plan is cheaper than the Team plan.", T),
    ("plans", "The Enterprise plan is cheaper than the Team plan.", F),
    ("plans", "Support for the Team plan is by chat.", T),
    ("plans", "Support for the Team plan is by telephone.", F),
    ("plans", "The Team plan has 17 more seats than the Starter plan.", T),
    ("plans", "The Team plan has 27 more seats than the Starter plan.", F),
    ("plans", "The Team plan was introduced in 2019.", SILENT),
    ("plans", "All plans can be cancelled within 14 days.", SILENT),
    ("plans", "The Team plan does not have 20 seats.", SILENT),
    ("rainfall", "In March 2015 the rainfall was 240 mm.", T),
    ("rainfall", "In March 2016 the rainfall was 240 mm.", F),
    ("rainfall", "In February 2017 the rainfall was 231 mm.", F),
    ("rainfall", "In February 2017 the rainfall was 203 mm.", T),
    ("rainfall", "In January 2015 the rainfall was 312 inches.", F),
    ("rainfall", "In January 2015 the rainfall was 31.2 cm.", T),
    ("rainfall", "More rain fell in April 2017 than in April 2016.", T),
    ("rainfall", "The rainfall was lower in January 2015 than in January 2016.", F),
    ("rainfall", "From January to February 2016 the rainfall fell by 95 mm.", T),
    ("rainfall", "From January to February 2016 the rainfall fell by 57 mm.", F),
    ("rainfall", "From January to February 2016 the rainfall rose by 95 mm.", F),
    ("rainfall", "The rainfall of April rose by 43 mm from 2016 to 2017.", T),
    ("rainfall", "The rainfall of April rose by 34 mm from 2016 to 2017.", F),
    ("rainfall", "In March 2019 the rainfall was 240 mm.", SILENT),
    ("rainfall", "The gauge was moved to the harbour in 2016.", SILENT),
    ("trains", "The train to Luzern departs at 10:14.", T),
    ("trains", "The train to Luzern departs at 10:37.", F),
    ("trains", "The train to Luzern departs at 11:20.", F),
    ("trains", "The IC 8 arrives at 10:58.", T),
    ("trains", "The IC 8 arrives at 11:05.", F),
    ("trains", "The train to Biel departs from platform 7.", T),
    ("trains", "The train to Biel departs from platform 11.", F),
    ("trains", "The destination of the RE 41 is Luzern.", T),
    ("trains", "The destination of the RE 41 is Zurich.", F),
    ("trains", "The train to Luzern departs at 10:14 UTC.", F),
    ("trains", "The train to Biel departs 23 minutes after the train to Luzern.", T),
    ("trains", "The train to Biel departs 12 minutes after the train to Luzern.", F),
    ("trains", "The train to Luzern departs 12 minutes before the train to Zurich.", F),
    ("trains", "The train to Geneva departs at 10:14.", SILENT),
    ("trains", "Tickets for the train to Biel cost 17 francs.", SILENT),
    ("settings", "The scheduler's default timeout is 30.", T),
    ("settings", "The scheduler's default timeout is 3.", F),
    ("settings", "By default the scheduler has 8 workers.", T),
    ("settings", "By default the scheduler has 30 workers.", F),
    ("settings", "In Table 3.1, the default timeout is greater than the default workers.", T),
    ("settings", "In Table 3.1, the default workers are greater than the default timeout.", F),
    ("settings", "The scheduler's default backlog is 30.", SILENT),
    ("codecs", "At level 6, zlib reaches a ratio of 3.10.", T),
    ("codecs", "At level 6, zlib reaches a ratio of 2.74.", F),
    ("codecs", "At level 6, xz reaches a ratio of 3.10.", F),
    ("codecs", "The speed of lz4 is 740 MB/s.", T),
    ("codecs", "The speed of lz4 is 105 MB/s.", F),
    ("codecs", "lz4 needs 16 KB of memory.", T),
    ("codecs", "lz4 needs 16 MB of memory.", F),
    ("codecs", "xz needs 94 MB of memory.", T),
    ("codecs", "xz needs 256 KB of memory.", F),
    ("codecs", "lz4 is faster than xz.", T),
    ("codecs", "xz is faster than lz4.", F),
    ("codecs", "At level 1, zlib is slower than lz4.", T),
    ("codecs", "zlib has a higher ratio at level 6 than at level 1.", T),
    ("codecs", "zlib has a higher ratio at level 1 than at level 6.", F),
    ("codecs", "zlib reaches a ratio of 3.10.", SILENT),
    ("codecs", "zstd reaches a ratio of 3.10.", SILENT),
    ("exports", "Norway exported 88.0 thousand tonnes of barley.", T),
    ("exports", "Iceland exported 88.0 thousand tonnes of barley.", F),
    ("exports", "Denmark exported 910,400 tonnes of fish.", T),
    ("exports", "Denmark exported 1,120,900 tonnes of fish.", F),
    ("exports", "Denmark exported more wheat than Norway.", T),
    ("exports", "Denmark exported more fish than Norway.", F),
    ("exports", "Norway exported more fish than barley.", T),
    ("exports", "Norway exported more wheat than barley.", F),
    ("exports", "Sweden exported 88.0 thousand tonnes of barley.", SILENT),
    ("releases", "Release 3.0 was released on 16 February 2021.", T),
    ("releases", "Release 3.0 was released on 2 April 2019.", F),
    ("releases", "Support for release 2.0 ended on 30 April 2021.", T),
    ("releases", "Support for release 2.0 ended on 2023-06-30.", F),
    ("releases", "The code name of release 4.0 is Clover.", T),
    ("releases", "The code name of release 4.0 is Aster.", F),
    ("releases", "Clover needs Python 3.9.", T),
    ("releases", "Clover needs Python 3.7.", F),
    ("releases", "Begonia was downloaded 40,000 times.", SILENT),
    ("registers", "The register TCTL has a width of 32 bits.", T),
    ("registers", "The register TCTL has a width of 64 bits.", F),
    ("registers", "The TCMP register is 64 bits wide.", T),
    ("registers", "The TCMP register is wider than the TCTL register.", T),
    ("registers", "The TCNT register is wider than the TCTL register.", F),
    ("registers", "Access to TCNT is read only.", T),
    ("registers", "Access to TCNT is write only.", F),
    ("schools", "Lake Road has 655 pupils.", T),
    ("schools", "Lake Road has 98 pupils.", F),
    ("schools", "Lake Road Annex has 98 pupils.", T),
    ("schools", "Lake Road Annex has 7 teachers.", T),
    ("schools", "Lake Road Annex has 41 teachers.", F),
    ("schools", "In 2018 Hill Street had 412 pupils.", T),
    ("schools", "In 2018 Hill Street had 230 pupils.", F),
    ("schools", "Absence at Old Mill is 6%.", T),
    ("schools", "Absence at Old Mill is 3.6%.", F),
    ("schools", "Old Mill was founded in 1899.", T),
    ("schools", "Old Mill was founded in 1954.", F),
    ("schools", "Old Mill has fewer pupils than Hill Street.", T),
    ("schools", "Old Mill has fewer teachers than Lake Road Annex.", F),
    ("schools", "Hill Street and Old Mill differ by 182 pupils.", T),
    ("schools", "Hill Street and Old Mill differ by 172 pupils.", F),
    ("schools", "Old Mill has about 200 pupils.", F),
    ("schools", "Hill Street has more than 400 pupils.", T),
    ("schools", "Hill Street has more than 500 pupils.", F),
    ("schools", "Hill Street has a library with 5,000 books.", SILENT),
    ("shells", "The longest shells measure 48.0 mm.", T),
    ("shells", "The longest shells measure 48.0 cm.", F),
    ("shells", "The widest shells measure 48.0 mm.", F),
    ("shells", "The narrowest shells measure 8.0 mm.", T),
    ("shells", "The longest and the shortest shells differ by 35.5 mm.", T),
    ("shells", "The longest and the shortest shells differ by 23.5 mm.", F),
    ("shells", "The standard deviation of the hinge length is 1.2 mm.", T),
    ("shells", "The standard deviation of the hinge length is 3.3 mm.", F),
    ("shells", "The mean shell length is 19.9 mm.", F),
    ("load", "In safe mode with 500 users, 1,150 pages per second were served.", T),
    ("load", "In safe mode with 50 users, 1,150 pages per second were served.", F),
    ("load", "In low latency mode with 50 users, the mean delay was 22 seconds.", F),
    ("load", "In low latency mode, 500 users had a longer mean delay than 50 users.", T),
    ("load", "In safe mode, 500 users got 250 pages per second more than 50 users.", T),
    ("load", "In safe mode, 500 users got 520 pages per second more than 50 users.", F),
    ("load", "In safe mode, 50 users got 250 pages per second fewer than 500 users.", T),
    ("load", "With 500 users, safe mode served more pages per second than low latency mode.", F),
    ("events", "The mean delay of jobStart is 12 ms.", T),
    ("events", "The mean delay of the job end event is 12 ms.", F),
    ("events", "When a job starts, the average delay is 12 seconds.", F),
    ("events", "The average delay of queueFull is 450 milliseconds.", T),
    ("events", "The delay of jobEnd is 18 ms longer than that of jobStart.", T),
    ("events", "The queue of jobEnd is high.", F),
    ("events", "The queue of jobEnd is low.", T),
]  # fmt: skip


def outcome(finding: CellFinding | None) -> bool | None:
    return None if finding is None else finding.agrees


@pytest.mark.parametrize(("table", "claim", "truth"), CLAIMS)
def test_a_cell_is_never_read_wrongly(table: str, claim: str, truth: bool | None) -> None:
    assert outcome(read_cells(claim, TABLES[table])) in {truth, None}


def test_most_claims_about_cells_are_decided() -> None:
    found = Counter(
        (truth, outcome(read_cells(claim, TABLES[table])))
        for table, claim, truth in CLAIMS
        if truth is not None
    )
    assert len(CLAIMS) >= 130
    assert found[T, T] >= 0.9 * (found[T, T] + found[T, None])
    assert found[F, F] >= 0.9 * (found[F, F] + found[F, None])


def test_a_finding_quotes_the_rows_that_it_compared() -> None:
    passages = TABLES["rainfall"]
    finding = read_cells("In February 2017 the rainfall was 231 mm.", ["Other text.", *passages])
    assert finding is not None
    (cell,) = finding.cells
    assert (cell.passage, cell.column, cell.value) == (2, "Feb", "203")
    assert passages[1][cell.span.start : cell.span.end] == cell.row
    assert finding.note == f'the table has "203" under "Feb" in "{cell.row}"'


def test_headings_give_the_unit() -> None:
    rows = ["| Year: 2015; Jan: 312; Feb: 198. |\n| Year: 2016; Jan: 255; Feb: 160. |"]
    claim = "In January 2016 the rainfall was 255 cm."
    assert read_cells(claim, rows) is None
    assert outcome(read_cells(claim, rows, ["Monthly rainfall in mm"])) is False


@pytest.mark.parametrize(
    "passage",
    [
        "",
        "| |",
        "| a. |",
        "| ; ; ; |",
        "| : : : |",
        "| a: ; b: . |",
        "||||",
        "| a: 1; a: 1; a: 2. |",
    ],
)
def test_rows_that_say_nothing(passage: str) -> None:
    assert read_cells("The price of a is 1.", [passage, passage]) is None
    assert read_cells("", [passage]) is None


def test_a_long_table_is_read_in_time() -> None:
    rows = "\n".join(
        f"| Item: part {number}; Price: {number}; Weight (kg): {number / 8}. |"
        for number in range(2000)
    )
    before = time.process_time()
    assert outcome(read_cells("The weight of part 1201 is 150.125 kg.", [rows])) is True
    assert time.process_time() - before < 10


@pytest.mark.parametrize("line", ["a = bb " * 5000 + "=", "a b c d " * 20_000, "x = 1\n" * 20_000])
def test_long_lines_of_assignments_are_read_in_time(line: str) -> None:
    before = time.process_time()
    read_cells("The value of y is 2.", [line])
    assert time.process_time() - before < 10


FROZEN = ROOT / "tests" / "spec" / "table_cells"


@cache
def passages_of(document: str) -> tuple[list[str], list[str]]:
    """Return the passages of a document of the frozen set, and their headings."""
    data = (FROZEN / "documents" / document).read_bytes()
    found = read_chunks(data, document, DocumentSettings(), named=True)
    assert isinstance(found, IngestedDocument)
    headings = {heading for chunk in found.chunks for heading in chunk.heading_path}
    return [chunk.text for chunk in found.chunks], sorted(headings)


def test_the_frozen_claims_are_decided_right() -> None:
    claims = [
        json.loads(line) for line in (FROZEN / "claims.jsonl").read_text("utf-8").splitlines()
    ]
    found = {
        claim["id"]: outcome(read_cells(claim["claim"], *passages_of(claim["document"])))
        for claim in claims
    }
    truths = {claim["id"]: claim["label"] == "supported" for claim in claims}
    wrong = [name for name, said in found.items() if said not in {truths[name], None}]
    assert wrong == []
    # The other four are about tables of a PDF whose columns the reader does not find.
    assert sum(said is not None for said in found.values()) >= 52
