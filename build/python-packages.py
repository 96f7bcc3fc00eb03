"""Makes the wheel and the source archive of the package in the present folder: python3 python-packages.py OUT SECONDS

The same sources give the same bytes. SECONDS is the time of every file.
"""

import contextlib
import gzip
import io
import os
import sys
import tarfile

from setuptools import build_meta

out, seconds = sys.argv[1], int(sys.argv[2])
os.umask(0o022)
os.environ["SOURCE_DATE_EPOCH"] = str(seconds)


def to_entry(member):
    """Without the owner and the times of this machine."""
    entry = tarfile.TarInfo(member.name)
    entry.type, entry.size, entry.mtime = member.type, member.size, seconds
    entry.mode = 0o755 if member.isdir() else 0o644
    return entry


with contextlib.redirect_stdout(sys.stderr):
    build_meta.build_wheel(out)
    path = os.path.join(out, build_meta.build_sdist(out))

with tarfile.open(path) as archive:
    members = sorted(archive.getmembers(), key=lambda member: member.name)
    contents = [(to_entry(member), archive.extractfile(member)) for member in members]
    contents = [(entry, io.BytesIO(content.read()) if content else None) for entry, content in contents]
with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=seconds) as packed:
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry, content in contents:
            archive.addfile(entry, content)
