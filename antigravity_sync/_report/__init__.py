"""A recording as a timeline: a page to look at, and a text for the terminal."""

from __future__ import annotations
