# SPDX-License-Identifier: GPL-2.0-only
"""A strict reader of TAP: what a suite claims, and whether the claim is complete.

A suite that dies, promises another number of tests than it ran, numbers them wrongly or skips without a reason has
failed, whatever its lines say.
"""
import re

PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.I)
TEST = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(.*)$")
DIRECTIVE = re.compile(r"\s*(?<!\\)#\s*(skip|todo)\S*\s*(.*)$", re.I)
# cmocka names no reason: a test prints one, as `skip: no /dev/fuse`, on the line before it calls skip().
REASON = re.compile(r"^#?\s*skip:\s*(.+)$", re.I)


class Result:
    """One test: state is `passed`, `failed` or `skipped`; notes are the lines that explain it."""

    def __init__(self, state, name, reason=""):
        self.state, self.name, self.reason, self.notes = state, name, reason, []


class Reader:
    """Feed it the lines of one suite, then close it. `results` grows as the lines come."""

    def __init__(self):
        self.results = []
        self.plan = None
        self.plan_is_last = False
        self.bailed = None
        self.reason = ""
        self.before = []

    def feed(self, line):
        """Takes one line; returns the Result that it completed, or None."""
        plan = PLAN.match(line)
        if plan:
            return self._take_plan(int(plan[1]), plan[2])
        test = TEST.match(line)
        if test:
            return self._take_test(bool(test[1]), test[2], test[3])
        if line.startswith("Bail out!"):
            self.bailed = line[len("Bail out!"):].strip() or "without a reason"
        self._take_note(line)
        return None

    def close(self, status, how):
        """The suite is over: its exit status, and `how` it ended if that was not by itself. Adds a Result for what is wrong."""
        failed_before = any(r.state == "failed" for r in self.results)
        ran = sum(1 for r in self.results if not r.name.startswith("(suite)"))
        problems = []
        if how:
            problems.append(how)
        if self.bailed is not None:
            problems.append(f"bailed out: {self.bailed}")
        if self.plan is None:
            problems.append(f"no plan after {ran} tests")
        elif self.plan != ran and not (self.plan == 0 and self.results):
            problems.append(f"plan of {self.plan} tests, {ran} seen")
        elif self.plan == 0 and not self.results:
            problems.append("an empty suite shows nothing")
        if status != 0 and not how and not failed_before:
            problems.append(f"exit status {status} without a failed test")
        if problems:
            self._problem("; ".join(problems)).notes = self.before[-20:]

    def _take_plan(self, count, skip_reason):
        if self.plan is not None:
            return self._problem("a second plan")
        self.plan_is_last = bool(self.results)
        self.plan = count
        if count == 0 and skip_reason is not None:
            return self._skip("(suite) all tests", skip_reason)
        return None

    def _take_test(self, negated, number, rest):
        ran = sum(1 for r in self.results if not r.name.startswith("(suite)"))
        directive = DIRECTIVE.search(rest)
        name = (rest[: directive.start()] if directive else rest).lstrip("- ").strip()
        if directive and directive[1].lower() == "skip":
            reason = directive[2].strip()
            if not name:  # cmocka puts the name behind the directive
                name, reason = reason, self.reason
            result = self._skip(name, reason)
        else:
            result = self._add(Result("failed" if negated else "passed", name))
        if number is None or int(number) != ran + 1 or self.plan_is_last:
            self._problem(f"test {number or 'without a number'} ({name}) where {ran + 1} was due")
        self.reason, self.before = "", []
        return result

    def _take_note(self, line):
        reason = REASON.match(line)
        if reason:
            self.reason = reason[1].strip()
        self.before.append(line)
        if self.results:
            self.results[-1].notes.append(line)

    def _skip(self, name, reason):
        if not reason:
            return self._add(Result("failed", f"{name}: skipped without a reason"))
        return self._add(Result("skipped", name, reason))

    def _problem(self, text):
        return self._add(Result("failed", f"(suite) {text}"))

    def _add(self, result):
        self.results.append(result)
        return result
