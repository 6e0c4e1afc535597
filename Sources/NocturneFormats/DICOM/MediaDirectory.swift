internal import CDCMTK
internal import CDICOMParser
internal import Glibc
public import NocturneSystem

/// The files that a DICOMDIR lists (DICOM PS3.10 8.6), limited to those that exist inside its own folder.
///
/// A directory is untrusted input and may list any path. A reference is only resolved as path components below its
/// folder, and the file must still be inside that folder after all links are resolved.
public struct MediaDirectory {
    /// The files that exist: the folder of the directory plus the names as they are on disk. Sorted, without
    /// repetitions.
    public private(set) var files: [String] = []
    /// Number of references to files that do not exist.
    private(set) var missing = 0
    /// Number of references that are not valid names below the folder, or leave it through a link.
    private(set) var outside = 0

    /// More records than any medium has; the rest is ignored.
    private static let maximumCount = 1_000_000
    /// The standard allows 8 components of 8 characters; some media ignore this limit and use longer ones.
    private static let maximumPartCount = 16

    /// Reads the records of the DICOMDIR at `path`, a few microseconds each, and checks every file in the file system.
    /// - Parameter flag: once it is raised, the other files are left out.
    /// - Throws: ``DICOMReadError`` when it cannot be read.
    public init(path: String, flag: CancellationFlag = CancellationFlag()) throws(DICOMReadError) {
        let references = try Self.references(path)
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[..<$0]) } ?? "."
        guard let realFolder = Self.realPath(folder.isEmpty ? "/" : folder) else {
            missing = references.count
            return
        }
        var found: Set<String> = []
        for reference in references where !flag.isCancelled {
            guard let parts = Self.parts(reference) else {
                outside += 1
                continue
            }
            // On media copied from a disc, names are often in lower case.
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

    /// Why it is not an image. With missing files it is an incomplete copy, of which a user must know.
    public var code: DICOMReadError.Code { missing > 0 ? .listedFilesMissing : .mediaDirectory }

    /// The description of the directory, as the reason why it is not an image.
    /// - Parameter added: how many of ``files`` are found only through it.
    public func description(added: Int) -> String {
        var text = "a DICOMDIR, which only lists other files: \(files.count) of those were found"
        if added > 0 { text += " (\(added) only through it)" }
        if missing > 0 { text += ", \(missing) missing" }
        if outside > 0 { text += "; ignored: \(counted(outside, "reference")) outside its folder" }
        return text
    }

    /// The components of a file's name below the folder; nil when it is not a valid name.
    static func parts(_ reference: String) -> [String]? {
        let parts = reference.split(separator: "\\", omittingEmptySubsequences: false).map(trimmed)
        guard (1...maximumPartCount).contains(parts.count) else { return nil }
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
                    return collector.references.count < MediaDirectory.maximumCount ? 0 : 1
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

    /// The path without links and dots; nil when the file does not exist.
    static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
