"""Tables made a batch of tasks at a time."""

import numpy as np
import pandas as pd
import pytest

from lib.lab.batches import in_batches, write_table


def test_a_batch_of_tasks_is_measured_once(tmp_path):
    measured = []

    def measure(batch):
        measured.append(batch)
        if batch == ["t8"] and len(measured) < 3:
            raise KeyboardInterrupt
        return pd.DataFrame({"task": batch})

    tasks = [f"t{number}" for number in range(9)]
    with pytest.raises(KeyboardInterrupt):
        in_batches(tmp_path / "table.parquet", tasks, measure)
    for _ in range(2):
        table = in_batches(tmp_path / "table.parquet", tasks, measure)
        assert list(table["task"]) == tasks
    assert measured == [tasks[:8], ["t8"], ["t8"]]
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_attempts_that_begin_alike_are_written_in_few_bytes_and_come_back(tmp_path):
    row = np.random.default_rng(0).normal(size=200).astype(np.float32)
    table = pd.DataFrame({"task": "t", "policy": [row[: 50 + i % 100] for i in range(400)]})
    write_table(table, tmp_path / "table.parquet")
    back = pd.read_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(back, table, check_dtype=False)
    assert back["policy"][0].dtype == np.float32
    raw = sum(row.nbytes for row in table["policy"])
    assert (tmp_path / "table.parquet").stat().st_size < raw / 40
