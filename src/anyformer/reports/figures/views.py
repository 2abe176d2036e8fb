"""What was written, as data and as text."""

from typing import Any

from rich.console import Group, RenderableType

from anyformer.reports.figures.report import TEXT, Report
from anyformer.reports.terminal import facts, heading, paragraph


def report_data(report: Report) -> dict[str, Any]:
    """The report as a JSON object."""
    found = report.verification
    return {
        "output": str(report.folder),
        "text": TEXT,
        "verdict": None if found is None else found.verdict.name.lower(),
        "figures": [
            {
                "name": plate.name,
                "title": plate.title,
                "caption": plate.caption,
                "files": [f"{plate.name}.{kind}" for kind in report.formats],
            }
            for plate in report.plates
        ],
        "left_out": [{"title": one.title, "reason": one.reason} for one in report.left_out],
    }


def report_view(report: Report) -> RenderableType:
    """The report as text."""
    found = report.verification
    verdict = "not checked: the function is not known; name it with --target" if found is None else found.verdict.value
    kinds = ",".join(report.formats)
    return Group(
        heading(f"{len(report.plates)} figures and {TEXT} written to {report.folder}"),
        paragraph(verdict),
        facts(
            [
                (f"{plate.name}.{{{kinds}}}" if "," in kinds else f"{plate.name}.{kinds}", plate.title)
                for plate in report.plates
            ]
        ),
        *(paragraph(f"left out: {one.title} ({one.reason})") for one in report.left_out),
    )
