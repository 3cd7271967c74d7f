#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 1200
# What hits.bats does, at every level for every program. For `make check-long`.

@test "hits at each level" {
    LEVELS="-O0 -O1 -O2 -O3 -Os" bats --tap "$BATS_TEST_DIRNAME/hits.bats"
}
