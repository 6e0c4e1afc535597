internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// Slices of which some may be copies of one object, as they come when a study was sent or stored twice.
///
/// An object is a copy where another one has the same SOPInstanceUID and either the same bytes in its file, or the same
/// facts and the same stored pixels in every slice (the same picture in another transfer syntax). All else is kept: two
/// objects of one UID that differ are a fault that must be seen.
struct DuplicateObjects {
    /// Without the copies; the object of the lowest path is kept.
    let kept: [DICOMSlice]
    /// Files left out, and the file each is a copy of.
    private(set) var originals: [(copy: String, original: String, sameBytes: Bool)] = []

    /// Above this many pixels, objects of different bytes are not decoded to be compared: no slice of a body has as many.
    private static let mostPixels = 1 << 24

    /// Reads the files of copies, each at most twice, and nothing where every SOPInstanceUID occurs once. Ends early, with
    /// a result of no use, when the flag is raised.
    init(_ slices: [DICOMSlice], flag: CancellationFlag) {
        var objects: [String: [DICOMSlice]] = [:]
        for slice in slices { objects[slice.object.path, default: []].append(slice) }
        var pathsOfUID: [String: [String]] = [:]
        for (path, own) in objects where !own[0].object.sopInstanceUID.isEmpty {
            pathsOfUID[own[0].object.sopInstanceUID, default: []].append(path)
        }
        for paths in pathsOfUID.values where paths.count > 1 {
            let paths = paths.sorted()
            guard let common = objects[paths[0]]?[0].object else { continue }
            let byBytes = Self.firstOfEach(
                paths,
                by: { Facts(objects[$0] ?? [], object: common, fileSize: objects[$0]?.first?.object.fileSize) },
                digest: { Self.digestOfFile($0, flag) }
            )
            let byPicture = Self.firstOfEach(
                paths.filter { byBytes[$0] == $0 },
                by: { Facts(objects[$0] ?? [], object: common) },
                digest: { Self.digestOfPixels(objects[$0] ?? [], flag) }
            )
            for path in paths {
                guard let same = byBytes[path], let original = byPicture[same], original != path else { continue }
                originals.append((path, original, original == same))
            }
        }
        originals.sort { $0.copy < $1.copy }
        let dropped = Set(originals.map(\.copy))
        kept = dropped.isEmpty ? slices : slices.filter { !dropped.contains($0.object.path) }
    }

    /// For each of `paths` the first one that is equal to it, or itself. Digests are taken only where facts are the same;
    /// without one a path equals no other.
    private static func firstOfEach<Key: Hashable>(
        _ paths: [String],
        by facts: (String) -> Key,
        digest: (String) -> ContentDigest?
    ) -> [String: String] {
        var result: [String: String] = [:]
        for group in Dictionary(grouping: paths, by: facts).values {
            var firsts: [ContentDigest: String] = [:]
            for path in group {
                result[path] = path
                guard group.count > 1, let digest = digest(path) else { continue }
                if let first = firsts[digest] { result[path] = first } else { firsts[digest] = path }
            }
        }
        return result
    }

    /// What was left out beside `slices`, in words; nil for nothing.
    func note(among slices: [DICOMSlice]) -> String? {
        let paths = Set(slices.map(\.object.path))
        let own = originals.filter { paths.contains($0.original) }
        guard let first = own.first else { return nil }
        let how = own.allSatisfy(\.sameBytes) ? "bytes" : "pixels"
        return
            "\(own.count) \(own.count == 1 ? "copy was" : "copies were") left out: the same SOPInstanceUID (0008,0018) "
            + "and the same \(how), e.g. \(Self.tail(first.copy)) and \(Self.tail(first.original))"
    }

    /// Folder and name: copies often have the same name.
    private static func tail(_ path: String) -> String {
        path.split(separator: "/").suffix(2).joined(separator: "/")
    }

    /// What copies have in common besides their pixels, in whatever transfer syntax. Files that say other things are not
    /// read: some anonymisers give all slices one SOPInstanceUID.
    private struct Facts: Hashable {
        let fileSize: Int?
        let photometricInterpretation: String
        let slices: [DICOMSlice]

        /// - Parameters:
        ///   - object: put in the place of the slices' own, which names the file.
        ///   - fileSize: nil where the same picture may take another number of bytes.
        init(_ slices: [DICOMSlice], object: DICOMObject, fileSize: Int? = nil) {
            self.fileSize = fileSize
            photometricInterpretation = slices.first?.object.photometricInterpretation ?? ""
            self.slices = slices.sorted(by: SeriesSplitCriterion.isBefore).map { slice in
                var slice = slice
                slice.object = object
                return slice
            }
        }
    }

    /// Of the stored values of all slices; nil where they are too many, or not to be had.
    private static func digestOfPixels(_ slices: [DICOMSlice], _ flag: CancellationFlag) -> ContentDigest? {
        guard slices.reduce(0, { $0 + ($1.rows ?? 0) * ($1.columns ?? 0) }) <= mostPixels else { return nil }
        var digester = ContentDigester()
        for slice in slices.sorted(by: SeriesSplitCriterion.isBefore) {
            guard !flag.isCancelled, let values = try? DICOMReader.storedValues(of: slice) else { return nil }
            values.withUnsafeBytes { digester.update($0) }
        }
        return digester.finish()
    }

    private static func digestOfFile(_ path: String, _ flag: CancellationFlag) -> ContentDigest? {
        let read = try? FileSystem.digest(path) { !flag.isCancelled }
        return flag.isCancelled ? nil : read?.digest
    }
}
