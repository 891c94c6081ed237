"""Whatever is handed out as an audit bundle is read or refused in a sentence, within bounds."""

from __future__ import annotations

import io
import resource
import struct
import zipfile

import pytest

from tacit.errors import LogError
from tacit.verify import Bundle, LogSignature, check_bundle, read_bundle, write_bundle
from tacit.verify.bundle import MOST_FILES

BUNDLE = Bundle(
    run="r-aaaaaaaaaa",
    state="finished",
    agreement=b'{"format":"tacit-agreement/1"}',
    signatures={"north": "ab" * 64},
    logs=dict.fromkeys(range(3), b'{"entry": 1}\n' * 50),
    log_signatures=[LogSignature(node, 1, "cd" * 64) for node in range(3)],
    manifests=[],
    ledger=b"{}\n",
    result=b'{"state": "finished"}',
)


@pytest.fixture(scope="module")
def packed() -> bytes:
    return write_bundle(BUNDLE)


def packed_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(LogError) as found:
        check_bundle(read_bundle(data))
    return str(found.value)


def test_a_bundle_with_any_byte_changed_is_read_or_refused_in_a_sentence(packed: bytes) -> None:
    for place in range(0, len(packed)):
        for bit in (0x01, 0x80):
            changed = bytearray(packed)
            changed[place] ^= bit
            refused(bytes(changed))


def test_a_bundle_that_was_cut_off_is_refused(packed: bytes) -> None:
    for length in range(0, len(packed), 7):
        refused(packed[:length])


def test_a_file_of_a_few_bytes_does_not_fill_the_memory() -> None:
    """One gigabyte of zeros is a megabyte of ZIP."""
    zeros = bytes(1 << 26)
    files = {"agreement.json": zeros, "result.json": zeros, "ledger.jsonl": zeros}
    data = packed_of({"bundle.json": head(), **files})
    assert len(data) < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "too large" in refused(data)
    # Kilobytes. The first of the three alone would take 64 MB, and the bound is for all together.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 << 10


def test_a_file_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(packed_of({"bundle.json": head(), "agreement.json": bytes(1 << 27)}))
    central = data.rfind(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", 5)
    refused(bytes(data))


def test_a_directory_of_many_files_is_not_read() -> None:
    many = packed_of({f"{number}": b"" for number in range(MOST_FILES + 1)}, zipfile.ZIP_STORED)
    assert "files" in refused(many)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(method: int) -> None:
    assert "packed in another way" in refused(packed_of({"bundle.json": head()}, method))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for content in (head(), b"{}"):
            archive.writestr("bundle.json", content)
    assert "two files of one name" in refused(data.getvalue())


def head() -> bytes:
    with zipfile.ZipFile(io.BytesIO(write_bundle(BUNDLE))) as archive:
        return archive.read("bundle.json")
