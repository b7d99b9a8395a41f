"""Which file systems can't hold a write-ahead log."""

from pathlib import Path

import pytest

from turnledger.infrastructure.file_system import shared_file_system

MOUNTS = r"""
/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /mnt/nfs nfs4 rw,vers=4.2 0 0
/dev/vdb /mnt/nfs/local xfs rw 0 0
//server/share /mnt/share cifs rw 0 0
//server/share /mnt/smb smb3 rw 0 0
host /mnt/plan 9p rw,trans=virtio 0 0
host /mnt/virtio virtiofs rw 0 0
user@server: /mnt/ssh fuse.sshfs rw 0 0
tmpfs /mnt/first tmpfs rw 0 0
server:/export /mnt/first nfs rw 0 0
server:/export /mnt/with\040blank nfs rw 0 0
server:/export /mnt/été nfs rw 0 0
""".lstrip()
NFS = b"server:/export /mnt/nfs nfs rw 0 0\n"


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    file = tmp_path / "mounts"
    file.write_text(MOUNTS)
    return file


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/nfs/ledger.db", "nfs4"),
        ("/mnt/nfs", "nfs4"),
        ("/mnt/share/deep/below/ledger.db", "cifs"),
        ("/mnt/smb/ledger.db", "smb3"),
        ("/mnt/plan/ledger.db", "9p"),
        ("/mnt/virtio/ledger.db", "virtiofs"),
        ("/mnt/ssh/ledger.db", "fuse.sshfs"),
        ("/mnt/with blank/ledger.db", "nfs"),
        ("/mnt/été/ledger.db", "nfs"),
    ],
)
def test_a_shared_file_system_is_named(mounts: Path, path: str, kind: str) -> None:
    assert shared_file_system(Path(path), mounts) == kind


@pytest.mark.parametrize(
    "path", ["/ledger.db", "/srv/ledger.db", "/mnt/nfs/local/ledger.db", "/mnt/nfs2/ledger.db"]
)
def test_a_local_one_is_not(mounts: Path, path: str) -> None:
    assert shared_file_system(Path(path), mounts) is None


def test_of_two_mounts_on_one_folder_the_later_one_counts(mounts: Path) -> None:
    assert shared_file_system(Path("/mnt/first/ledger.db"), mounts) == "nfs"


def test_where_mounts_are_not_listed_nothing_is_known(tmp_path: Path) -> None:
    assert shared_file_system(Path("/mnt/nfs/ledger.db"), tmp_path / "missing") is None


def test_a_strange_name_among_the_mounts_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "mounts"
    file.write_bytes(b"tmpfs /mnt/a\x0cb tmpfs rw 0 0\ntmpfs /mnt/\xff tmpfs rw 0 0\n" + NFS)

    assert shared_file_system(Path("/mnt/nfs/ledger.db"), file) == "nfs"


def test_a_link_is_followed_to_where_the_file_is(mounts: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/mnt/nfs")

    assert shared_file_system(link / "ledger.db", mounts) == "nfs4"


def test_the_folder_of_these_tests_is_judged_by_the_mounts_of_this_machine(tmp_path: Path) -> None:
    kinds = {line.split()[2] for line in Path("/proc/self/mounts").read_text().splitlines()}

    assert shared_file_system(tmp_path) in kinds | {None}
