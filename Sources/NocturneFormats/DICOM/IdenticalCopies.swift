internal import NocturneConcurrency

#if canImport(Glibc)
    internal import Glibc
#endif

/// Slices of which some may be copies of one object, as they come when a study was sent or stored twice.
///
/// An object is a copy where another one has the same SOPInstanceUID and either the same bytes in its file, or the same
/// facts and the same stored pixels in every slice (the same picture in another transfer syntax). All else is kept: two
/// objects of one UID that differ are a fault that must be seen.
struct IdenticalCopies {
    /// Without the copies; the object of the lowest path is kept.
    let kept: [DICOMSlice]
    /// Files left out, and the file each is a copy of.
    private(set) var originals: [(copy: String, original: String, sameBytes: Bool)] = []

    /// Reads the files of copies, and nothing where every SOPInstanceUID occurs once. Ends early, with a result of no
    /// use, when the flag is raised.
    init(_ slices: [DICOMSlice], flag: CancellationFlag) {
        var objects: [String: [DICOMSlice]] = [:]
        for slice in slices { objects[slice.object.path, default: []].append(slice) }
        var pathsOfUID: [String: [String]] = [:]
        for (path, own) in objects where !own[0].object.sopInstanceUID.isEmpty {
            pathsOfUID[own[0].object.sopInstanceUID, default: []].append(path)
        }
        var dropped: Set<String> = []
        for paths in pathsOfUID.values where paths.count > 1 {
            var distinct: [String] = []
            for path in paths.sorted() where !flag.isCancelled {
                let original = distinct.lazy.compactMap { other -> (String, Bool)? in
                    if Self.sameBytes(path, other) { return (other, true) }
                    return Self.samePicture(objects[path] ?? [], objects[other] ?? []) ? (other, false) : nil
                }.first
                if let (other, sameBytes) = original {
                    dropped.insert(path)
                    originals.append((path, other, sameBytes))
                } else {
                    distinct.append(path)
                }
            }
        }
        originals.sort { $0.copy < $1.copy }
        kept = dropped.isEmpty ? slices : slices.filter { !dropped.contains($0.object.path) }
    }

    /// What was left out beside `slices`, in words; nil for nothing.
    func note(among slices: [DICOMSlice]) -> String? {
        let paths = Set(slices.map(\.object.path))
        let own = originals.filter { paths.contains($0.original) }
        guard let first = own.first else { return nil }
        let how = own.allSatisfy(\.sameBytes) ? "bytes" : "pixels"
        return "\(own.count) \(own.count == 1 ? "copy was" : "copies were") left out: the same SOPInstanceUID (0008,0018) "
            + "and the same \(how), e.g. \(Self.tail(first.copy)) and \(Self.tail(first.original))"
    }

    /// Folder and name: copies often have the same name.
    private static func tail(_ path: String) -> String {
        path.split(separator: "/").suffix(2).joined(separator: "/")
    }

    private static func samePicture(_ one: [DICOMSlice], _ other: [DICOMSlice]) -> Bool {
        guard one.count == other.count else { return false }
        let pairs = zip(one.sorted(by: SliceTrait.isBefore), other.sorted(by: SliceTrait.isBefore))
        for (left, right) in pairs {
            var alike = right
            alike.object = left.object
            guard alike == left, left.object.photometricInterpretation == right.object.photometricInterpretation,
                let values = try? DICOMReader.storedValues(of: left),
                let others = try? DICOMReader.storedValues(of: right), values == others
            else { return false }
        }
        return true
    }

    private static func sameBytes(_ one: String, _ other: String) -> Bool {
        guard let left = fopen(one, "rb") else { return false }
        defer { fclose(left) }
        guard let right = fopen(other, "rb") else { return false }
        defer { fclose(right) }
        let size = 1 << 16
        return withUnsafeTemporaryAllocation(byteCount: 2 * size, alignment: 16) { buffer in
            guard let first = buffer.baseAddress else { return false }
            let second = first + size
            while true {
                let count = fread(first, 1, size, left)
                guard fread(second, 1, size, right) == count, ferror(left) == 0, ferror(right) == 0,
                    memcmp(first, second, count) == 0
                else { return false }
                if count < size { return true }
            }
        }
    }
}
