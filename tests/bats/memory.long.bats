#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 3000
# Memory does not grow with calls: five times as many as every day.

bats_require_minimum_version 1.5.0
load process_helper
load flood_helper

@test "100 million calls: collector below 100 MiB, recorder below 400 MiB of anonymous memory" {
    flood 100000000
    exact 100000000
    small
}
