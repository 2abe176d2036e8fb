"""What tests with mixers from outside share."""

import pytest


@pytest.fixture
def shipped():
    """Only the mixers of this package have names, and after the test again those that had one before."""
    from tests.mixers.brought import only_shipped

    with only_shipped():
        yield
