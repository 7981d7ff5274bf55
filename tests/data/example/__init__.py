"""The example's instances, a file for each department; `tests.data.build_example` writes them down."""
