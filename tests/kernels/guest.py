# SPDX-License-Identifier: GPL-2.0-only
"""A guest under QEMU: the kernel of a Debian package, an initial file system of a few programs, and one boot."""
import gzip
import os
import re
import selectors
import shutil
import subprocess
import time
from pathlib import Path


class Unavailable(Exception):
    """A facility that this machine does not have; the text names it."""


TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "dpkg-deb": "dpkg", "gcc": "gcc"}


def need_tools():
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            raise Unavailable(f"{tool} (package {package})")


def version_key(name):
    return [int(part) for part in re.findall(r"\d+", name)]


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def find_package(pattern):
    names = [n for n in output_of(["apt-cache", "pkgnames", "linux-image-"]).split() if re.fullmatch(pattern, n)]
    # A name may be known only as another package's wish.
    for name in sorted(names, key=version_key, reverse=True):
        if re.search(r"Candidate: \d", output_of(["apt-cache", "policy", name])):
            return name
    return None


def download(package, folder):
    command = ["apt-get", "download", "-q", "-o", "Acquire::Retries=3", package]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    debs = sorted(folder.glob(f"{package}_*.deb"))
    if done.returncode or not debs:
        raise Unavailable(f"package {package}: {(done.stderr.strip().splitlines() or ['not downloaded'])[-1]}")
    return debs[-1]


def fetch_kernel(pattern, folder):
    """The kernel image of the newest package whose name matches; kept in `folder` for the next time."""
    folder.mkdir(parents=True, exist_ok=True)
    have = [p for p in folder.glob("vmlinuz-*") if re.fullmatch(pattern, "linux-image-" + p.name[len("vmlinuz-"):])]
    if have:
        return max(have, key=lambda p: version_key(p.name))
    if not shutil.which("apt-get"):
        raise Unavailable("apt-get, to download a kernel of Debian")
    package = find_package(pattern)
    if not package:
        raise Unavailable(f"a package {pattern} (apt-get update?)")
    deb = download(package, folder)
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "--strip-components=2", "--wildcards", "./boot/vmlinuz-*"], cwd=folder, stdin=tar.stdout, check=True)
    deb.unlink()
    tar.stdout.close()
    tar.wait()
    return fetch_kernel(pattern, folder)


def libraries_of(program):
    """The files that the loader maps for a program, by the names it opens them by."""
    text = output_of(["ldd", str(program)])
    return {m[1] for m in re.finditer(r"(?:=>\s*|^\s*)(/\S+) \(0x", text, re.M)}


def place(root, source, at):
    target = root / at.lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(os.path.realpath(source), target)


def make_skeleton(root):
    for name in ("usr/bin", "usr/lib", "usr/lib64", "usr/sbin", "proc", "sys", "dev", "tmp", "etc", "root"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")


def make_image(path, programs, files, jobs):
    """
    The initial file system: busybox, the programs with their libraries, other files by their place in it, what to do in
    /jobs, and the init beside this file.
    """
    busybox = shutil.which("busybox")
    root = path.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    make_skeleton(root)
    place(root, busybox, "/usr/bin/busybox")
    for applet in output_of([busybox, "--list"]).split():
        if applet != "busybox":
            (root / "usr/bin" / applet).symlink_to("busybox")
    for program in programs:
        place(root, program, f"/usr/bin/{Path(program).name}")
        for library in libraries_of(program):
            place(root, library, library)
    for at, source in files.items():
        place(root, source, at)
    place(root, Path(__file__).with_name("init"), "/init")
    (root / "init").chmod(0o755)
    (root / "jobs").write_text("".join(f"{job}\n" for job in jobs))
    names = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*"))) + "\n"
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=root, input=names.encode(), stdout=subprocess.PIPE, check=True)
    path.write_bytes(gzip.compress(packed.stdout, 1))
    shutil.rmtree(root)


def qemu_command(kernel, image):
    return ["nice", "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-m", "1G", "-nographic", "-no-reboot", "-nic", "none",
            "-kernel", str(kernel), "-initrd", str(image), "-append", "console=ttyS0 loglevel=3 panic=-1 mitigations=off"]


def boot(kernel, image, log, silence, limit):
    """
    One boot: what the guest said, line by line, and whether it came to its end. A guest that says nothing for `silence`
    seconds, or is not over after `limit`, hangs: it is killed.
    """
    begin = heard = time.monotonic()
    said = b""
    child = subprocess.Popen(qemu_command(kernel, image), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with selectors.DefaultSelector() as ready, open(log, "ab") as file:
        ready.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < min(heard + silence, begin + limit):
            if not ready.select(1):
                continue
            piece = os.read(child.stdout.fileno(), 65536)
            if not piece:
                break
            file.write(piece)
            file.flush()
            said += piece
            heard = time.monotonic()
    child.kill()
    child.wait()
    child.stdout.close()
    lines = said.decode("utf-8", "replace").replace("\r", "").splitlines()
    return lines, "@@ over" in lines
