#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# What test_killed.py does, fifty times. For `make check-long`.

@test "the collector is killed at fifty moments" {
    KILLS=50 "$PYTHON" -m pytest --tap -q -p no:cacheprovider --rootdir "$TOP/tests" \
        "$BATS_TEST_DIRNAME/test_killed.py" -k collector_killed
}
