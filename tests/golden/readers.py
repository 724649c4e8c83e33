"""The readers to compare: scripts/bstdump in this process; the C reader through tests/golden/dump.c,
built here under ASan and UBSan where the compiler has them; and `boundshim info --dump`."""
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build") / "golden"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def load(path):
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


BSTDUMP = load(ROOT / "scripts/bstdump")


def second_reader(data):
    out = io.StringIO()
    BSTDUMP.Dump(bytes(data), out).run()
    return out.getvalue()


def build(program, *more):
    """Compiles tests/golden/PROGRAM.c with shim/trace unless that was done already."""
    target = BUILD / program
    sources = [ROOT / "tests/golden" / f"{program}.c", *map(ROOT.joinpath, more)]
    sources += sorted((ROOT / "shim/trace").glob("*.c"))
    inputs = sources + [p for folder in ("shim/trace", "tests/unit", "analysis")
                        for pattern in ("*.h", "*.def") for p in (ROOT / folder).glob(pattern)]
    if target.exists() and target.stat().st_mtime > max(p.stat().st_mtime for p in inputs):
        return target
    BUILD.mkdir(parents=True, exist_ok=True)
    fresh = BUILD / f"{program}.{os.getpid()}"
    command = [os.environ.get("CC", "cc"), "-std=c11", "-O1", "-g", "-D_GNU_SOURCE=", f"-I{ROOT}",
               "-o", fresh, *sources]
    if subprocess.run([*command, *SANITIZE, "-lz"], stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([*command, "-lz"], check=True)
    os.replace(fresh, target)
    return target


def c_reader(paths):
    """What the C reader prints for each of these files."""
    done = subprocess.run([build("dump", "analysis/dump.c"), *paths], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"the C reader ended with {done.returncode} on one of {len(paths)} files")
    parts = ("\n" + done.stdout[:-1]).split("\nfile ")[1:]
    return [part.partition("\n")[2] + "\n" for part in parts]


def command():
    """The boundshim command if it is built and can dump, or None."""
    path = os.environ.get("BOUNDSHIM") or shutil.which("boundshim")
    if not path or not os.access(path, os.X_OK):
        return None
    words = subprocess.run([path, "info", "--help"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True).stdout
    return path if "--dump" in words else None


def command_reader(path, file):
    done = subprocess.run([path, "info", "--dump", file], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    if done.returncode < 0:
        raise SystemExit(f"boundshim info --dump {file} died of signal {-done.returncode}")
    return done.stdout
