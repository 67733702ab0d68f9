"""The changelog can be read by people and by tools."""

from __future__ import annotations

import re

import pytest

from antigravity_sync import VERIFIED_HARNESS_VERSIONS
from tests.contract.source import ROOT

HEADINGS = ["Breaking", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()


def test_changelog_when_read_then_unreleased_is_on_top(lines: list[str]) -> None:
    """Whatever comes next is collected under one heading, before all releases."""
    assert lines[0] == "# Changelog"
    releases = [line for line in lines if line.startswith("## ")]
    assert releases[0] == "## [Unreleased]"
    for line in releases[1:]:
        assert re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", line), line


def test_changelog_when_read_then_known_headings_in_order(lines: list[str]) -> None:
    """Releases sort their changes under the same headings, in one order, none of them empty."""
    for release in "\n".join(lines).split("\n## ")[1:]:
        parts = release.split("\n### ")[1:]
        names = [part.partition("\n")[0] for part in parts]
        assert names == [name for name in HEADINGS if name in names]
        assert all("\n- " in part for part in parts)


def test_changelog_when_read_then_entries_are_sentences(lines: list[str]) -> None:
    """Every entry starts with a capital or a name in code, and ends with a full stop."""
    body = "\n".join(lines).partition("\n## ")[2]
    entries = re.split(r"\n(?:- |#+ .*)", body.replace("\n  ", " "))[1:]
    entries = [entry.strip() for entry in entries if entry.strip()]
    assert len(entries) > 5
    for entry in entries:
        assert re.match(r"[A-Z`]", entry), entry
        assert entry.endswith("."), entry


def test_changelog_when_read_then_each_release_says_what_it_was_tested_on(
    lines: list[str],
) -> None:
    """Harness versions are named under every release, and today's are today's."""
    releases = "\n".join(lines).split("\n## ")[1:]
    for release in releases:
        assert re.search(r"Tested on harness 0\.1\.", release)
    tested = re.findall(r"\b0\.1\.\d+\b", releases[0].partition("\n###")[0])
    assert tuple(tested) == VERIFIED_HARNESS_VERSIONS


def test_changelog_when_lines_are_measured_then_they_fit(lines: list[str]) -> None:
    """Lines fit beside a diff."""
    assert max(map(len, lines)) <= 100
