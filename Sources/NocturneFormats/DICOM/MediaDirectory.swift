internal import CDCMTK
internal import CDICOMParser

#if canImport(Glibc)
    internal import Glibc
#endif

/// The files that a DICOMDIR names (DICOM PS3.10 8.6): which of them are there, and inside its own folder.
///
/// A directory comes with its medium and may name anything. What it names is followed only as parts of a name below its
/// folder, and the file found must lie there too when all links are followed.
struct MediaDirectory {
    /// The files that are there: the folder of the directory with the names as they are on disk. Sorted, each once.
    private(set) var files: [String] = []
    /// References to files that are not there.
    private(set) var missing = 0
    /// References that are no names below the folder, or lead out of it by a link.
    private(set) var outside = 0

    /// More records than any medium has; the rest is not looked at.
    private static let largestCount = 1_000_000
    /// The standard allows 8 parts of 8 characters; media made without regard to it have longer ones.
    private static let largestParts = 16

    /// Reads the records of the DICOMDIR at `path`, some microseconds each, and asks the system for every file.
    init(path: String) throws(DICOMReadError) {
        let references = try Self.references(path)
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[..<$0]) } ?? "."
        guard let realFolder = Self.realPath(folder.isEmpty ? "/" : folder) else {
            missing = references.count
            return
        }
        var found: Set<String> = []
        for reference in references {
            guard let parts = Self.parts(reference) else {
                outside += 1
                continue
            }
            // Media copied from a disc often have their names in lower case.
            let names = [parts, parts.map { $0.lowercased() }].map { folder + "/" + $0.joined(separator: "/") }
            guard let name = names.first(where: Self.isFile), let real = Self.realPath(name) else {
                missing += 1
                continue
            }
            guard real.hasPrefix(realFolder == "/" ? "/" : realFolder + "/") else {
                outside += 1
                continue
            }
            found.insert(slash == nil ? String(name.dropFirst(2)) : name)
        }
        files = found.sorted()
    }

    /// The directory in words, for its line among the files set aside.
    func words(added: Int) -> String {
        var words = "a DICOMDIR, which only names other files: \(files.count) of them are there"
        if added > 0 { words += ", \(added) found by it alone" }
        if missing > 0 { words += "; \(missing) are not" }
        if outside > 0 { words += "; \(outside) names lead out of its folder and were not followed" }
        return words
    }

    /// The parts of a file's name below the folder; nil when it is none.
    static func parts(_ reference: String) -> [String]? {
        let parts = reference.split(separator: "\\", omittingEmptySubsequences: false).map { part in
            var part = part
            while part.first == " " { part.removeFirst() }
            while part.last == " " { part.removeLast() }
            return String(part)
        }
        guard (1...largestParts).contains(parts.count) else { return nil }
        for part in parts {
            guard !part.isEmpty, part != ".", part != "..", part.utf8.count <= 255,
                !part.utf8.contains(UInt8(ascii: "/"))
            else { return nil }
        }
        return parts
    }

    private static func references(_ path: String) throws(DICOMReadError) -> [String] {
        final class Collector { var references: [String] = [] }
        let collector = Collector()
        var error = cdicom_error()
        let code = withExtendedLifetime(collector) {
            cdcmtk_read_directory(
                path,
                { context, reference in
                    guard let context, let reference else { return 1 }
                    let collector = Unmanaged<Collector>.fromOpaque(context).takeUnretainedValue()
                    collector.references.append(String(cString: reference))
                    return collector.references.count < MediaDirectory.largestCount ? 0 : 1
                },
                Unmanaged.passUnretained(collector).toOpaque(),
                &error
            )
        }
        guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
        return collector.references
    }

    private static func isFile(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    /// Without links and dots; nil when it is not there.
    static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
