"""Settings shared by all tests: the fast ones run first, and a busy machine may take its time."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
