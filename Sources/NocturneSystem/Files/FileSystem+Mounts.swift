internal import CPosix
internal import Glibc

/// The file system that holds a path: its space and its kind.
extension FileSystem {
    /// Bytes that may still be written to the file system that holds `path`; nil when that is not known.
    public static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// The bytes that all users together may have on the file system that holds `path`, were it empty; nil when that is
    /// not known. Quotas do not count.
    public static func capacityBytes(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        // Some blocks are kept for the administrator.
        return Int(status.f_blocks - status.f_bfree + status.f_bavail) * Int(status.f_frsize)
    }

    /// How many more files the file system that holds `path` can have; nil when that is not known, or there is no such limit.
    public static func freeFiles(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_files > 0 else { return nil }
        return Int(status.f_favail)
    }

    /// Whether the file system that holds `path`, which need not exist yet, keeps its files in memory: what is written there is
    /// memory that only the removal of the file gives back.
    ///
    /// False for an overlay, whose kind does not show where its upper layer is.
    public static func isInMemory(_ path: String) -> Bool {
        let kinds: Set<UInt32> = [0x0102_1994, 0x8584_58F6, 0x9584_58F6]  // tmpfs, ramfs, hugetlbfs
        return kinds.contains(cposix_file_system_type(nearest(to: path)))
    }

    /// Whether the file system that holds `path` is one of this machine alone, so that its locks exclude everybody who can
    /// see the file. False for shares, for file systems of user programs (FUSE), and for those that are not known.
    ///
    /// A folder that this machine exports to others counts as its own.
    public static func isLocal(_ path: String) -> Bool {
        localMagicNumbers.contains(cposix_file_system_type(path))
    }

    /// Of `statfs(2)` and `linux/magic.h`.
    private static let localMagicNumbers: Set<UInt32> = [
        0xEF53,  // ext2, ext3, ext4
        0x5846_5342,  // XFS
        0x9123_683E,  // Btrfs
        0xF2F5_2010,  // F2FS
        0x2FC1_2FC1,  // ZFS
        0xCA45_1A4E,  // bcachefs
        0x5265_4973,  // ReiserFS
        0x3153_464A,  // JFS
        0x0102_1994,  // tmpfs
        0x8584_58F6,  // ramfs
        0x794C_7630,  // overlay, whose upper layer is local
        0x7371_7368,  // SquashFS
        0x4D44,  // FAT
        0x2011_BAB0,  // exFAT
    ]
}
