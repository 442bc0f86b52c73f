"""Print how the code is built: ways, rings, sizes, long functions, single-importer modules.

Run `make house`, or `python -m bench.house FOLDER` for another checkout, of which the ways are not
traced.
"""

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from bench.place import REPOSITORY
from bench.table import show

PACKAGES = ("judge_gym", "flows", "tasks", "deployments")
LIBRARY = "judge_gym"
LONG = 40
"""Lines; longer functions are listed."""
MOST_LISTED = 12
BEFORE: dict[str, dict[str, tuple[int, int]]] = {
    "verdict": {"frames": (33, 20), "files": (14, 9)},
    "screen": {"files": (31, 14), "functions": (173, 70)},
    "audit": {"files": (94, 45), "functions": (579, 250)},
    "label": {"files": (54, 25), "functions": (292, 0), "reads": (4, 1), "estimates": (2, 1)},
}
"""Way → figure → what was counted before the second rebuilding, and the aim; 0 is none.

`SAME_TRACER` says what this tracer counts in the last commit before it.
"""
SAME_TRACER = {
    "verdict": {"frames": 31, "files": 12},
    "audit": {"files": 92, "functions": 887},
    "label": {"files": 55, "functions": 495, "reads": 2, "estimates": 1},
}
PLANNING = ("lab", "judges", "panel", "gyms", "benchmarks", "calibration", "studies")
"""Packages whose plans are of runs, not of claims."""


def main() -> None:
    """Print the figures of the checkout in the first argument, the working folder by default."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    sys.path.insert(0, str(root))
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    if root == REPOSITORY:
        _show_ways()
    files = {
        path: path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }
    library = {path: text for path, text in files.items() if LIBRARY in path.parts}
    rings = _rings(graph)
    found = circles(graph)
    named = _files_naming_figures(files.values()) if root == REPOSITORY else 0.0
    plans = [
        _name(root, path)
        for path, text in library.items()
        if path.relative_to(root).parts[1] in PLANNING and _has_plan(ast.parse(text))
    ]
    if named:
        print(f"files that name a figure {named:.1f}")
    print(f"plans of runs          {len(plans)}", ", ".join(plans))
    print(f"files in circles       {sum(map(len, found))}", *map(", ".join, found), sep="\n  ")
    print(f"packages in rings      {sum(map(len, rings))}", *(", ".join(ring) for ring in rings))
    drivers = [_name(root, path) for path, text in files.items() if _asks(ast.parse(text))]
    print(f"drivers of the gateway {len(drivers)}", ", ".join(drivers))
    print(f"files in {LIBRARY}     {len(library)}")
    print(f"lines in {LIBRARY}     {sum(map(_lines, library.values())):,}")
    print(f"lines in all           {sum(map(_lines, files.values())):,}")
    several = _of_several(files.values())
    # A value and the table that holds it are one thing.
    apart = _of_several(text for path, text in files.items() if path.parent.name != "tables")
    print(f"class names of several {len(several)}", ", ".join(several))
    print(f"  without tables       {len(apart)}", ", ".join(apart))
    single = _single_importers(graph)
    print(f"single-importer modules {len(single)}")
    print("\nlines and files by package")
    for package, (lines, count) in sorted(_by_package(root, files).items()):
        print(f"  {package:<28}{lines:>7,}{count:>5}")
    functions = sorted(_functions(root, files), reverse=True)
    print(f"\nfunctions over {LONG} lines: {sum(length > LONG for length, _ in functions)}")
    for length, name in functions[:MOST_LISTED]:
        print(f"  {length:>4}  {name}")


def _show_ways() -> None:
    """Trace the ways through this checkout, each in a process, and print them beside the aims."""
    found = {}
    for way in BEFORE:
        command = [sys.executable, "-m", "bench.ways", way]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
        found[way] = json.loads(ended.stdout.splitlines()[-1])
    rows = [
        (
            *(way, what, str(before), str(SAME_TRACER.get(way, {}).get(what, ""))),
            *(str(found[way][what]), str(aim or "")),
        )
        for way, figures in BEFORE.items()
        for what, (before, aim) in figures.items()
    ]
    headings = ("way", "what", "before", "before, same tracer", "now", "aim")
    show("Ways through the code", headings, rows)


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the sets of modules that import each other, directly or not; all imports count."""
    modules = sorted(graph.modules)
    index = {module: number for number, module in enumerate(modules)}
    arrows = [
        (index[module], index[imported])
        for module in modules
        for imported in graph.find_modules_directly_imported_by(module)
        # A package's __init__ gathers what its modules say.
        if not module.startswith(f"{imported}.") and not imported.startswith(f"{module}.")
    ]
    rows, columns = zip(*arrows, strict=True)
    shape = (len(modules), len(modules))
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    _, labels = connected_components(matrix, directed=True, connection="strong")
    sizes = Counter(labels.tolist())
    return [
        [module for module in modules if labels[index[module]] == label]
        for label, size in sizes.items()
        if size > 1
    ]


def _files_naming_figures(files: Iterable[str]) -> float:
    """Return in how many files a figure's name stands as text, in the mean over figures.

    One of them defines it; the others select it.
    """
    from judge_gym.analysis import registry

    names = set(registry.figures())
    found: Counter[str] = Counter()
    for text in files:
        constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        found.update({node.value for node in constants if isinstance(node.value, str)} & names)
    return found.total() / len(found)


def _has_plan(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name.endswith("Plan") for node in tree.body)


def _of_several(files: Iterable[str]) -> list[str]:
    """Return the names that several classes of these files bear."""
    trees = map(ast.parse, files)
    nodes = (node for tree in trees for node in ast.walk(tree))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


def _rings(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the sets of the library's packages that import each other, directly or not.

    Deferred imports and those for type checking count.
    """
    packages = sorted(graph.find_children(LIBRARY))
    index = {package: number for number, package in enumerate(packages)}
    rows, columns = [], []
    for module in graph.find_descendants(LIBRARY):
        for imported in graph.find_modules_directly_imported_by(module):
            if imported.startswith(f"{LIBRARY}."):
                rows.append(index[_package(module)])
                columns.append(index[_package(imported)])
    shape = (len(packages), len(packages))
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    _, labels = connected_components(matrix, directed=True, connection="strong")
    sizes = Counter(labels.tolist())
    return [
        [package.partition(".")[2] for package in packages if labels[index[package]] == label]
        for label, size in sizes.items()
        if size > 1
    ]


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _asks(tree: ast.Module) -> bool:
    """Whether a module calls the gateway's `ask`, which one engine should do."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "ask"
        and ast.unparse(node.func.value).endswith("gateway")
        for node in ast.walk(tree)
    )


def _single_importers(graph: grimp.ImportGraph) -> list[str]:
    return [
        module
        for module in graph.find_descendants(LIBRARY)
        if not graph.find_children(module)
        and len(graph.find_modules_that_directly_import(module)) == 1
    ]


def _by_package(root: Path, files: dict[Path, str]) -> dict[str, tuple[int, int]]:
    lines: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for path, text in files.items():
        parts = path.relative_to(root).parts
        package = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
        lines[package] += _lines(text)
        counts[package] += 1
    return {package: (lines[package], counts[package]) for package in lines}


def _functions(root: Path, files: dict[Path, str]) -> Iterator[tuple[int, str]]:
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield length, f"{_name(root, path)}:{node.name}"


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _lines(text: str) -> int:
    return text.count("\n")


if __name__ == "__main__":
    main()
