"""Twelve tasks of somebody who has just found the tool."""
