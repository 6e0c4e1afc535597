#if canImport(Glibc)
    import Glibc
#endif

/// The attribute of `chattr +i`, which stops the superuser too: nothing in such a folder can be removed, and no such file.
public enum ImmutableAttribute {
    /// Of `linux/fs.h`.
    private static let (getFlags, setFlags, flag): (UInt, UInt, CInt) = (0x8008_6601, 0x4008_6602, 0x10)

    /// Sets or clears it on a file or folder.
    /// - Returns: false where the file system or the user's rights do not allow it.
    @discardableResult
    public static func set(_ isImmutable: Bool, on path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // The kernel reads and writes an int, although the number of the call is that of a long.
        var flags = [CInt](repeating: 0, count: 2)
        guard ioctl(descriptor, getFlags, &flags) == 0 else { return false }
        flags[0] = isImmutable ? flags[0] | flag : flags[0] & ~flag
        return ioctl(descriptor, setFlags, &flags) == 0
    }

    /// Whether it can be used in the system's temporary folder.
    public static let isAvailable: Bool = {
        guard let folder = try? TemporaryFolder("immutable") else { return false }
        return set(true, on: folder.path) && set(false, on: folder.path)
    }()
}
