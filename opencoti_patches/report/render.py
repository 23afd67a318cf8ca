"""A report in the form asked for."""

from __future__ import annotations

from opencoti_patches.core.model import Report
from opencoti_patches.report.there import there

FORMATS = ("text", "json", "github", "junit", "sarif")
SCHEMA = 1


def render(report: Report, form: str, given: str = "") -> str:
    """The report as text of that form, without a last newline; may be empty. ``given`` is the project's folder as it was
    typed behind ``-C``, which the commands get that it names."""
    report = there(report, given, form)
    if form == "json":
        import json

        return json.dumps(
            {"schema": SCHEMA, "command": report.command, "ok": report.ok, **report.body()}, ensure_ascii=False
        )
    if form == "text":
        return "\n".join(report.text)
    if form == "markdown":
        from opencoti_patches.report.markdown import markdown

        return markdown(report, given)
    from opencoti_patches.report import ci

    return {"github": ci.github, "junit": ci.junit, "sarif": ci.sarif}[form](report)
