import NocturneSystem

/// Slices of which some may be copies of one object, which happens when a study was sent or stored twice.
///
/// An object is a copy if another one has the same SOPInstanceUID and either an identical file, or the same header
/// values and the same stored pixels in every slice (the same image in another transfer syntax). All other objects are
/// kept: two different objects with one UID are an error that must be reported.
///
/// Single slices with different UIDs are copies too where positions are repeated, and the copies are the only reason: the same pixels,
/// and the same header values but for those that tools change or drop when they store an image again, its UID, number, window and the
/// settings of the scanner, such as KVP (0018,0060). Where a series cannot be split either, only what enters voxels and geometry is
/// compared.
struct DuplicateObjects {
    /// The slices without the copies; of several copies, the object with the lowest path is kept.
    private(set) var kept: [DICOMSlice]
    /// Excluded files, each with the file that it duplicates.
    private(set) var originals: [(copy: String, original: String, sameness: Sameness)] = []

    /// What a copy has in common with its original.
    enum Sameness {
        case bytes, pixels
        /// The pixels, under another UID.
        case pixelsOnly
    }

    /// Objects with more pixels and different bytes are not decoded for comparison: no medical slice has as many
    /// pixels.
    private static let maximumPixelCount = 1 << 24

    /// Reads the files of copies, each at most twice, and no file if every SOPInstanceUID occurs once. Returns early,
    /// with an incomplete result that must not be used, when the flag is raised.
    init(_ slices: [DICOMSlice], flag: CancellationFlag) {
        var objects: [String: [DICOMSlice]] = [:]
        for slice in slices { objects[slice.object.path, default: []].append(slice) }
        var pathsByUID: [String: [String]] = [:]
        for (path, own) in objects where !own[0].object.sopInstanceUID.isEmpty {
            pathsByUID[own[0].object.sopInstanceUID, default: []].append(path)
        }
        // Bytes first, since they cost no decoding. What is left may be the same image in another transfer syntax.
        for paths in pathsByUID.values where paths.count > 1 {
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
                // A copy of a copy is one of the first: `same` has the same bytes, `original` the same picture as that.
                guard let same = byBytes[path], let original = byPicture[same], original != path else { continue }
                originals.append((path, original, original == same ? .bytes : .pixels))
            }
        }
        let dropped = Set(originals.map(\.copy))
        kept = dropped.isEmpty ? slices : slices.filter { !dropped.contains($0.object.path) }
        kept = omitImages(from: kept, comparing: .storedAgain, flag)
        originals.sort { $0.copy < $1.copy }
    }

    /// A part of ``kept``, which was not split, without the slices whose voxels and geometry are those of others.
    mutating func omitImages(from part: [DICOMSlice], flag: CancellationFlag) -> [DICOMSlice] {
        omitImages(from: part, comparing: .image, flag)
    }

    private mutating func omitImages(
        from slices: [DICOMSlice],
        comparing values: Facts.Values,
        _ flag: CancellationFlag
    ) -> [DICOMSlice] {
        let copies = Self.imagesUnderOtherUIDs(slices, values, flag)
        guard !copies.isEmpty else { return slices }
        originals += copies.map { ($0.copy, $0.original, .pixelsOnly) }
        let omitted = Set(copies.map(\.copy))
        return slices.filter { !omitted.contains($0.object.path) }
    }

    /// Single slices whose image is that of another one at the same position; none unless each position then has one slice.
    ///
    /// Slices that repeat positions for other reasons, as phases do, may be equal by chance, such as empty ones.
    private static func imagesUnderOtherUIDs(
        _ slices: [DICOMSlice],
        _ values: Facts.Values,
        _ flag: CancellationFlag
    ) -> [(copy: String, original: String)] {
        let positions = SliceSplitting.Positions(slices)
        guard positions.isRepeated, slices.allSatisfy({ !$0.object.sopInstanceUID.isEmpty }),
            let common = slices.first?.object
        else { return [] }
        let byPath = Dictionary(slices.map { ($0.path, [$0]) }) { $0 + $1 }
        guard byPath.count == slices.count else { return [] }
        let first = firstOfEach(
            byPath.keys.sorted(),
            by: { Facts(byPath[$0] ?? [], object: common, comparing: values) },
            digest: { digestOfPixels(byPath[$0] ?? [], flag) }
        )
        let copies = first.filter { $0.key != $0.value }
        let isExplained = copies.count == slices.count - positions.count
        return isExplained ? copies.map { (copy: $0.key, original: $0.value) } : []
    }

    /// For each of `paths` the first one that is equal to it, or the path itself. Digests are computed only where the
    /// header values are equal; a path without a digest equals no other.
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

    /// Describes what was excluded besides `slices`; nil if nothing was.
    func note(among slices: [DICOMSlice]) -> Note? {
        let paths = Set(slices.map(\.object.path))
        let own = originals.filter { paths.contains($0.original) }
        guard let first = own.first else { return nil }
        let how =
            if own.contains(where: { $0.sameness == .pixelsOnly }) {
                "the same position and the same pixels under another SOPInstanceUID (0008,0018)"
            } else {
                "the same SOPInstanceUID (0008,0018) and the same "
                    + (own.allSatisfy { $0.sameness == .bytes } ? "bytes" : "pixels")
            }
        let copies = own.count == 1 ? "copy was" : "copies were"
        return Note(
            "dicom.copiesOmitted",
            "\(own.count) \(own: copies) omitted: \(own: how), e.g. "
                + "\(file: shortPath(first.copy)) and \(file: shortPath(first.original))"
        )
    }

    /// The values that copies share besides their pixels, in any transfer syntax. Files with different values are not
    /// read: some anonymisers give all slices one SOPInstanceUID.
    private struct Facts: Hashable {
        /// Which values of slices are compared, besides pixels.
        enum Values {
            case all
            /// Without those that tools change when they store an image again.
            case storedAgain
            /// Those that enter voxels and geometry.
            case image
        }

        let fileSize: Int?
        let photometricInterpretation: String
        let slices: [DICOMSlice]

        /// - Parameters:
        ///   - object: replaces the slices' own object, which contains the file path.
        ///   - fileSize: nil where the same image may need another number of bytes.
        init(_ slices: [DICOMSlice], object: DICOMObject, fileSize: Int? = nil, comparing values: Values = .all) {
            self.fileSize = fileSize
            photometricInterpretation = slices.first?.object.photometricInterpretation ?? ""
            self.slices = slices.sorted(by: SeriesSplitCriterion.isBefore).map { slice in
                var slice = slice
                slice.object = object
                if values != .all {
                    (slice.plane.instanceNumber, slice.plane.windowCenter, slice.plane.windowWidth) = (nil, nil, nil)
                    slice.plane.removeSettings()
                }
                if values == .image { slice.plane.removeLabels() }
                return slice
            }
        }
    }

    /// Digest of the stored values of all slices; nil if there are too many pixels or they cannot be read.
    private static func digestOfPixels(_ slices: [DICOMSlice], _ flag: CancellationFlag) -> ContentDigest? {
        guard slices.reduce(0, { $0 + ($1.plane.rows ?? 0) * ($1.plane.columns ?? 0) }) <= maximumPixelCount else {
            return nil
        }
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

extension DICOMPlane {
    /// Removes what orders and divides slices, and enters neither voxels nor geometry.
    fileprivate mutating func removeLabels() {
        (stackID, temporalPosition, acquisitionNumber, echoNumber, echoTime) = (nil, nil, nil, nil, nil)
        (triggerTime, contentTime, acquisitionTime, diffusionBValue) = (nil, nil, nil, nil)
        (sliceThickness, imageType, dimensionIndex) = (nil, [], [])
    }

    /// Removes what the scanner was set to, which tools may drop when they store an image again.
    fileprivate mutating func removeSettings() {
        (peakVoltage, repetitionTime, inversionTime, flipAngle, kernel) = (nil, nil, nil, nil, "")
    }
}
