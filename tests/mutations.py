"""Plant small faults in the code, one at a time, and print which of them the tests catch.

`python tests/mutations.py` draws faults with a seed in the engine, the parser, the metrics and the
store: an operator or a constant changed, a condition negated, a returned value dropped. Each is
planted in a copy of the working tree, where the tests of its room run until the first fails. A
fault that no test catches is a question: is a test missing, or does the fault change nothing?
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
LONGEST_S = 600.0
PASSED = (0, 5)
"""Exit codes of pytest: all passed, and none was selected."""
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", ".judge-gym")
DATABASE_TESTS = "tests/database"


@dataclass(frozen=True)
class Room:
    """Code, and the tests to run for a fault in it: the first selection that fails catches it."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "engine": Room(("judge_gym/asking",), (DATABASE_TESTS,)),
    "parser": Room(
        ("judge_gym/answers",), ("tests/unit/answers", "tests/unit/questions", "tests/unit/judges")
    ),
    "metrics": Room(("judge_gym/metrics",), ("tests/unit/metrics", "tests/unit/calibration")),
    "store": Room(("judge_gym/store",), (DATABASE_TESTS,)),
}
# What the embedded server does is seen by processes; it is no part of storing.
NO_FAULTS = ("embedded", "migrations")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True)
class Fault:
    """One change of one file: `new` stands where `old` stood."""

    room: str
    file: Path
    line: int
    old: str
    new: str
    text: str
    """The whole file with the fault."""


def changes_of(node: ast.AST) -> Iterator[ast.AST]:
    """Small faults of a node, as nodes to stand in its place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            if not any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right)):
                yield ast.BinOp(node.left, OPERATORS[type(op)](), node.right)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=value) if value is not None:
            if not isinstance(value, ast.Constant) or value.value is not None:
                yield ast.Return(ast.Constant(None))


def faults_of(room: str, tree: Path, file: Path) -> Iterator[Fault]:
    """Every fault that can be planted in a file."""
    source = file.read_text()
    lines = source.splitlines(keepends=True)
    module = ast.parse(source)
    skipped = {id(child) for node in ast.walk(module) if _is_no_behaviour(node)
               for child in ast.walk(node)}  # fmt: skip
    for node in ast.walk(module):
        if id(node) in skipped:
            continue
        for changed in changes_of(node):
            place = node.test if isinstance(node, ast.If | ast.IfExp) else node
            assert isinstance(place, ast.expr | ast.stmt)
            start, end = _offset(lines, place.lineno, place.col_offset), _end(lines, place)
            old, new = source[start:end], ast.unparse(ast.fix_missing_locations(changed))
            new = f"({new})" if isinstance(changed, ast.expr) else new
            text = source[:start] + new + source[end:]
            yield Fault(room, file.relative_to(tree), place.lineno, old, new, text)


def _is_no_behaviour(node: ast.AST) -> bool:
    """Whether no test can see a change within this node: an annotation, or imports for types."""
    return isinstance(node, ast.arg) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


def _offset(lines: list[str], line: int, column: int) -> int:
    """The position in the text of a column that is counted in bytes."""
    before = lines[line - 1].encode()[:column].decode()
    return sum(map(len, lines[: line - 1])) + len(before)


def _end(lines: list[str], node: ast.expr | ast.stmt) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return _offset(lines, node.end_lineno, node.end_col_offset)


def drawn(tree: Path, seed: int, count: int, rooms: list[str]) -> list[Fault]:
    """Faults at random, as many of each room, in an order that follows from the seed."""
    chosen: list[Fault] = []
    for number, room in enumerate(rooms):
        random_ = random.Random(f"{seed} {room}")
        files = sorted(
            file
            for folder in ROOMS[room].code
            for file in (tree / folder).rglob("*.py")
            if not any(part.startswith(NO_FAULTS) for part in file.relative_to(tree).parts[2:])
        )
        possible = [fault for file in files for fault in faults_of(room, tree, file)]
        share = count // len(rooms) + (number < count % len(rooms))
        chosen += random_.sample(possible, min(share, len(possible)))
    return chosen


def caught_by(tree: Path, fault: Fault, fails: Callable[[Path, Sequence[str]], bool]) -> str:
    """The selection of tests that catches a fault; empty when none does.

    First the files that name the module, then all tests of its room.
    """
    file = tree / fault.file
    before = file.read_text()
    file.write_text(fault.text)
    selections = {
        "the tests that name it": _naming(tree, fault),
        "the tests of its room": [
            name for name in ROOMS[fault.room].tests if (tree / name).exists()
        ],
    }
    try:
        for name, tests in selections.items():
            if tests and fails(tree, tests):
                return name
        return ""
    finally:
        file.write_text(before)


def _naming(tree: Path, fault: Fault) -> list[str]:
    """The test files of the fault's room that import its module."""
    module = ".".join(fault.file.with_suffix("").parts)
    package, _, name = module.rpartition(".")
    imported = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    return [
        str(file.relative_to(tree))
        for folder in ROOMS[fault.room].tests
        for file in sorted((tree / folder).rglob("test_*.py"))
        if imported.search(file.read_text())
    ]


def failing(tree: Path, tests: Sequence[str]) -> bool:
    """Run a selection until its first failure; whether there was one."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "loadfile"]
    command += ["-m", "not slow and not stress", "-p", "no:cacheprovider", *tests]
    # The copy before the working tree, which is installed.
    environment = os.environ | {"PYTHONPATH": str(tree)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=tree, env=environment, stdout=output, stderr=output)
        try:
            return process.wait(LONGEST_S) not in PASSED
        except subprocess.TimeoutExpired:
            # As Ctrl-C: it stops its servers. A test that never ends has caught the fault.
            process.terminate()
            process.wait()
            return True


def main() -> None:
    """Plant the faults, and print each with what caught it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--tree", type=Path, default=REPOSITORY, help="the code and tests to use")
    given = parser.parse_args()
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(given.tree, Path(folder) / "tree", ignore=NOT_COPIED))
        for room in given.rooms:
            if failing(tree, [name for name in ROOMS[room].tests if (tree / name).exists()]):
                sys.exit(f"The tests of {room} fail without a fault: mend them first.")
        faults = drawn(tree, given.seed, given.faults, given.rooms)
        for fault in faults:
            began = time.monotonic()
            tests = caught_by(tree, fault, failing)
            caught += bool(tests)
            how = f"caught by {tests}" if tests else "MISSED"
            old, new = (" ".join(text.split())[:60] for text in (fault.old, fault.new))
            where = f"{fault.room:8} {fault.file}:{fault.line}: {old} -> {new}"
            print(f"{where}: {how} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{caught} of {len(faults)} faults caught, seed {given.seed}")


if __name__ == "__main__":
    main()
