public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Reads volumes in NIfTI, NRRD and MetaImage files, by their names: what ends neither as NRRD nor as MetaImage is NIfTI.
///
/// NIfTI-1 and NIfTI-2 files (`.nii`, `.hdr` with `.img`) may be gzipped, which is recognised by content. NRRD (`.nrrd`, `.nhdr`) and
/// MetaImage (`.mha`, `.mhd`) are read with three axes and one value for each voxel, raw or compressed with gzip or zlib; the voxels
/// may be in one other file in the same folder. All integer and float types up to 64 bits, both byte orders.
///
/// A file is refused with ``VolumeFileError`` when it is not a scalar volume (2-D, RGB, complex, vectors, more than
/// four axes), when it holds several volumes where one is expected, when its spacing or affine is unusable, when it
/// states no orientation (unless that is to be assumed), and when it is shorter than its header states; nothing is
/// allocated before that is known. Bytes after the voxels are ignored. For the choice of the geometry see
/// ``VolumeFileHeader``.
public enum VolumeFileReader {
    /// Reads the header and its extensions, and checks that the file is long enough to hold the voxels: exactly for an
    /// uncompressed file, and by deflate's largest ratio for a compressed one.
    ///
    /// - Parameters:
    ///   - path: a `.nii` or `.hdr` file, or the `.img` of a pair; `.gz` may follow.
    ///   - assumesOrientation: whether a file that states no orientation is read (see ``VolumeFileHeader``) instead of refused.
    ///   - acceptsTimeSeries: whether a file with several volumes is read instead of refused.
    /// - Throws: ``VolumeFileError``, naming the file and the fact.
    /// - Complexity: milliseconds; at most 1 MiB of extensions is kept, the rest is skipped.
    public static func readHeader(
        at path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(VolumeFileError) -> VolumeFileHeader {
        try open(path, assumesOrientation: assumesOrientation, acceptsTimeSeries: acceptsTimeSeries).header
    }

    /// Reads the voxels as float32.
    ///
    /// Scaling is computed in double and rounded once. The content of a gzip file is compared with its checksum.
    ///
    /// - Parameter timePoint: which volume of a time series, from 0; nil to refuse a file with several.
    /// - Throws: ``VolumeFileError``; `CancelledError` soon after the scope's flag is raised.
    /// - Complexity: one pass on the calling thread over the voxels, and over the whole content of a gzip file; 4 bytes per voxel of
    ///   one volume, and less than 1 MiB besides.
    public static func readVolume(
        at path: String,
        assumesOrientation: Bool = false,
        timePoint: Int? = nil,
        scope: ComputeScope
    ) throws -> (header: VolumeFileHeader, volume: Volume, nonFiniteCount: Int) {
        let file = try open(path, assumesOrientation: assumesOrientation, acceptsTimeSeries: timePoint != nil)
        let header = file.header
        let count = header.time?.count ?? 1
        if let timePoint, !(0..<count).contains(timePoint) {
            throw VolumeFileError(
                .invalidDimensions,
                path: file.path,
                "has \(counted(count, "volume")), and none of number \(timePoint)"
            )
        }
        let convert = VoxelConversion.toFloats(header)
        var nonFinite = 0
        let voxels: FrozenVoxels<Float> = try fill(file, volume: timePoint ?? 0, scope) {
            (chunk, range, target) throws(VolumeFileError) in
            nonFinite += convert(chunk, range.count, target + range.lowerBound)
        }
        return (header, Volume(geometry: header.geometry, voxels: voxels), nonFinite)
    }

    /// Reads a label map: any stored type, as long as every value (after scaling) is within 0.001 of an integer in 0...65535.
    ///
    /// - Parameter note: called when some values are not exactly integers, with a sentence.
    /// - Throws: ``VolumeFileError``, with code `notLabels` naming the first voxel that is not a label; `CancelledError`.
    /// - Complexity: one pass on the calling thread; 2 bytes per voxel, and less than 1 MiB besides.
    public static func readLabels(
        at path: String,
        assumesOrientation: Bool = false,
        scope: ComputeScope,
        note: (Note) -> Void = { _ in }
    ) throws -> (header: VolumeFileHeader, labels: LabelVolume) {
        let file = try open(path, assumesOrientation: assumesOrientation)
        let header = file.header
        let convert = VoxelConversion.toLabels(header)
        var isRounded = false
        let voxels: FrozenVoxels<UInt16> = try fill(file, scope) { (chunk, range, target) throws(VolumeFileError) in
            let run = convert(chunk, range.count, target + range.lowerBound)
            if let (index, value) = run.fault {
                throw noLabel(value, at: range.lowerBound + index, header.shape, file.path)
            }
            isRounded = isRounded || run.isRounded
        }
        if isRounded {
            note(
                Note(
                    "nifti.labelsRounded",
                    "values that are not exactly whole (within 0.001) were rounded to the nearest label"
                )
            )
        }
        return (header, LabelVolume(geometry: header.geometry, voxels: voxels))
    }

    /// Reads a label map without holding it in memory: `body` is called with runs of labels in the order of the file,
    /// each with the index of its first voxel.
    ///
    /// - Throws: ``VolumeFileError`` and `CancelledError`, as ``readLabels(at:assumesOrientation:scope:note:)`` does;
    ///   the content of a gzip file is compared with its checksum.
    /// - Complexity: one pass on the calling thread; less than 1 MiB.
    public static func scanLabels(
        at path: String,
        scope: ComputeScope,
        _ body: (_ header: VolumeFileHeader, _ place: Int, _ labels: UnsafeBufferPointer<UInt16>) -> Void
    ) throws -> VolumeFileHeader {
        let file = try open(path)
        let header = file.header
        let convert = VoxelConversion.toLabels(header)
        let labels = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: chunkBytes)
        defer { labels.deallocate() }
        try stream(file, scope) { (chunk, range) throws(VolumeFileError) in
            guard let base = labels.baseAddress else { return }
            if let (index, value) = convert(chunk, range.count, base).fault {
                throw noLabel(value, at: range.lowerBound + index, header.shape, file.path)
            }
            body(header, range.lowerBound, UnsafeBufferPointer(rebasing: labels[..<range.count]))
        }
        return header
    }

    private static func noLabel(_ value: some Any, at place: Int, _ shape: VolumeShape, _ path: String)
        -> VolumeFileError
    {
        let (i, j, k) = (place % shape.x, place / shape.x % shape.y, place / shape.sliceCount)
        return VolumeFileError(
            .notLabels,
            path: path,
            "not a label map: voxel (\(i), \(j), \(k)) is \(value), not within 0.001 of an integer in 0...65535"
        )
    }

    private static func open(
        _ path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(VolumeFileError) -> OpenVolumeFile {
        switch VolumeFileFormat(ofName: path) {
        case .nrrd: try NRRDHeader(path).open(assumesOrientation: assumesOrientation)
        case .metaImage: try MetaImageHeader(path).open(assumesOrientation: assumesOrientation)
        case .nifti, nil:
            try OpenVolumeFile(
                path: path,
                assumesOrientation: assumesOrientation,
                acceptsTimeSeries: acceptsTimeSeries
            )
        }
    }

    /// Bytes converted at a time: small enough for the cache, so that the flag is checked every millisecond.
    private static let chunkBytes = 256 << 10
    /// The maximum number of bytes after the voxels that are read to reach the checksum of a gzip file.
    private static let maximumTailBytes = 64 << 20

    /// Streams the stored voxels through `convert` into a new buffer.
    private static func fill<Element: BitwiseCopyable & Sendable>(
        _ file: OpenVolumeFile,
        volume: Int = 0,
        _ scope: ComputeScope,
        _ convert: (UnsafeRawPointer, Range<Int>, UnsafeMutablePointer<Element>) throws(VolumeFileError) -> Void
    ) throws -> FrozenVoxels<Element> {
        var buffer: VoxelBuffer<Element>
        do {
            buffer = try VoxelBuffer<Element>(count: file.header.shape.count)
        } catch {
            throw VolumeFileError(.outOfMemory, path: file.source.path, error.description)
        }
        try buffer.withUnsafeMutableBufferPointer { target in
            guard let base = target.baseAddress else { return }
            try stream(file, volume: volume, scope) { (chunk, range) throws(VolumeFileError) in
                try convert(chunk, range, base)
            }
        }
        return buffer.frozen()
    }

    /// Passes the stored voxels of a volume to `body`, a chunk at a time, and continues reading up to the checksum.
    private static func stream(
        _ file: OpenVolumeFile,
        volume: Int = 0,
        _ scope: ComputeScope,
        _ body: (UnsafeRawPointer, Range<Int>) throws(VolumeFileError) -> Void
    ) throws {
        try scope.check()
        try file.skipToVoxels(of: volume, scope.flag)
        let count = file.header.shape.count
        let width = file.header.dataType.bytesPerVoxel
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 64)
        defer { chunk.deallocate() }
        guard let bytes = chunk.baseAddress else { return }
        var done = 0
        while done < count {
            try scope.check()
            let range = done..<min(count, done + chunkBytes / width)
            let wanted = range.count * width
            let got = try file.source.read(into: UnsafeMutableRawBufferPointer(rebasing: chunk[..<wanted]))
            guard got == wanted else {
                throw file.ended(after: volume * file.header.volumeByteCount + done * width + got)
            }
            try body(UnsafeRawPointer(bytes), range)
            done = range.upperBound
        }
        try file.skipToVoxels(of: file.header.time?.count ?? 1, scope.flag)
        try file.source.finishMember(limit: maximumTailBytes, scope.flag)
    }
}
