internal import CPosix

extension FileSystem {
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
