"""Scripted sessions and, later, benchmarks."""
