/// Checks of names and relative paths that come from a file, before a path is made of them.
public enum RelativePath {
    /// Whether this is the name of one entry of a folder: not empty, no `.` or `..`, and without a slash or NUL.
    public static func isName(_ text: String) -> Bool {
        !text.isEmpty && text != "." && text != ".." && !text.utf8.contains(UInt8(ascii: "/")) && !text.utf8.contains(0)
    }

    /// Whether a path, put behind a folder, stays below that folder: names with single slashes between them.
    public static func staysBelow(_ path: String) -> Bool {
        path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { isName(String($0)) }
    }
}
