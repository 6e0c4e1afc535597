public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// A volume read from a NIfTI file.
public struct NIfTIVolume: Sendable {
    /// The checked header.
    public let header: NIfTIHeader
    /// Values after scaling.
    public let volume: Volume
    /// Number of voxels that are NaN or infinite; they are kept unchanged. A network cannot process them.
    public let nonFiniteCount: Int
}

/// Reads NIfTI-1 and NIfTI-2 files: `.nii`, `.hdr` with `.img`, each uncompressed or gzipped, which is recognised by
/// content. All integer and float types up to 64 bits, both byte orders.
///
/// A file is refused with ``NIfTIError`` when it is not a scalar volume (2-D, RGB, complex, vectors, more than four axes), when it
/// holds several volumes where one is expected, when its
/// spacing or affine is unusable, when it states no orientation (unless that is to be assumed), and when it is shorter than its header states; nothing is allocated before that is
/// known. Bytes after the voxels are ignored. For the choice of the geometry see ``NIfTIHeader``.
public enum NIfTIReader {
    /// Reads the header and its extensions, and checks that the file is long enough to hold the voxels: exactly for an
    /// uncompressed file, and by deflate's largest ratio for a compressed one.
    ///
    /// - Parameters:
    ///   - path: a `.nii` or `.hdr` file, or the `.img` of a pair; `.gz` may follow.
    ///   - assumesOrientation: whether a file that states no orientation is read (see ``NIfTIHeader``) instead of refused.
    ///   - acceptsTimeSeries: whether a file with several volumes is read instead of refused.
    /// - Throws: ``NIfTIError``, naming the file and the fact.
    /// - Complexity: milliseconds; at most 1 MiB of extensions is kept, the rest is skipped.
    public static func readHeader(
        at path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(NIfTIError) -> NIfTIHeader {
        try NIfTIOpenFile(
            path: path,
            assumesOrientation: assumesOrientation,
            acceptsTimeSeries: acceptsTimeSeries
        ).header
    }

    /// Reads the voxels as float32.
    ///
    /// Scaling is computed in double and rounded once. The content of a gzip file is compared with its checksum.
    ///
    /// - Parameter timePoint: which volume of a time series, from 0; nil to refuse a file with several.
    /// - Throws: ``NIfTIError``; `CancelledError` soon after the scope's flag is raised.
    /// - Complexity: one pass on the calling thread over the voxels, and over the whole content of a gzip file; 4 bytes per voxel of
    ///   one volume, and less than 1 MiB besides.
    public static func readVolume(
        at path: String,
        assumesOrientation: Bool = false,
        timePoint: Int? = nil,
        scope: ComputeScope
    ) throws -> NIfTIVolume {
        let file = try NIfTIOpenFile(
            path: path,
            assumesOrientation: assumesOrientation,
            acceptsTimeSeries: timePoint != nil
        )
        return try readVolume(file, timePoint: timePoint, scope: scope)
    }

    static func readVolume(_ file: NIfTIOpenFile, timePoint: Int?, scope: ComputeScope) throws -> NIfTIVolume {
        let header = file.header
        let count = header.time?.count ?? 1
        if let timePoint, !(0..<count).contains(timePoint) {
            throw NIfTIError(
                .invalidDimensions,
                path: file.path,
                "has \(count) volumes, and none of number \(timePoint)"
            )
        }
        let convert = NIfTIVoxelConversion.toFloats(header)
        var nonFinite = 0
        let voxels: FrozenVoxels<Float> = try fill(file, volume: timePoint ?? 0, scope) {
            (chunk, range, target) throws(NIfTIError) in
            nonFinite += convert(chunk, range.count, target + range.lowerBound)
        }
        return NIfTIVolume(
            header: header,
            volume: Volume(geometry: header.geometry, voxels: voxels),
            nonFiniteCount: nonFinite
        )
    }

    /// Reads a label map: any stored type, as long as every value (after scaling) is within 0.001 of an integer in 0...65535.
    ///
    /// - Parameter note: called when some values are not exactly integers, with a sentence.
    /// - Throws: ``NIfTIError``, with code `notLabels` naming the first voxel that is not a label; `CancelledError`.
    /// - Complexity: one pass on the calling thread; 2 bytes per voxel, and less than 1 MiB besides.
    public static func readLabels(
        at path: String,
        assumesOrientation: Bool = false,
        scope: ComputeScope,
        note: (Note) -> Void = { _ in }
    ) throws -> (header: NIfTIHeader, labels: LabelVolume) {
        try readLabels(NIfTIOpenFile(path: path, assumesOrientation: assumesOrientation), scope: scope, note: note)
    }

    static func readLabels(
        _ file: NIfTIOpenFile,
        scope: ComputeScope,
        note: (Note) -> Void
    ) throws -> (header: NIfTIHeader, labels: LabelVolume) {
        let header = file.header
        let convert = NIfTIVoxelConversion.toLabels(header)
        var isRounded = false
        let voxels: FrozenVoxels<UInt16> = try fill(file, scope) { (chunk, range, target) throws(NIfTIError) in
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
    /// - Throws: ``NIfTIError`` and `CancelledError`, as ``readLabels(at:assumesOrientation:scope:note:)`` does; the content of a gzip file is
    ///   compared with its checksum.
    /// - Complexity: one pass on the calling thread; less than 1 MiB.
    public static func scanLabels(
        at path: String,
        scope: ComputeScope,
        _ body: (_ header: NIfTIHeader, _ place: Int, _ labels: UnsafeBufferPointer<UInt16>) -> Void
    ) throws -> NIfTIHeader {
        try scanLabels(NIfTIOpenFile(path: path), scope: scope, body)
    }

    static func scanLabels(
        _ file: NIfTIOpenFile,
        scope: ComputeScope,
        _ body: (_ header: NIfTIHeader, _ place: Int, _ labels: UnsafeBufferPointer<UInt16>) -> Void
    ) throws -> NIfTIHeader {
        let header = file.header
        let convert = NIfTIVoxelConversion.toLabels(header)
        let labels = UnsafeMutableBufferPointer<UInt16>.allocate(capacity: chunkBytes)
        defer { labels.deallocate() }
        try stream(file, scope) { (chunk, range) throws(NIfTIError) in
            guard let base = labels.baseAddress else { return }
            if let (index, value) = convert(chunk, range.count, base).fault {
                throw noLabel(value, at: range.lowerBound + index, header.shape, file.path)
            }
            body(header, range.lowerBound, UnsafeBufferPointer(rebasing: labels[..<range.count]))
        }
        return header
    }

    private static func noLabel(_ value: some Any, at place: Int, _ shape: VolumeShape, _ path: String) -> NIfTIError {
        let (i, j, k) = (place % shape.x, place / shape.x % shape.y, place / shape.sliceCount)
        return NIfTIError(
            .notLabels,
            path: path,
            "not a label map: voxel (\(i), \(j), \(k)) is \(value), not within 0.001 of an integer in 0...65535"
        )
    }

    /// Bytes converted at a time: small enough for the cache, so that the flag is checked every millisecond.
    private static let chunkBytes = 256 << 10
    /// The maximum number of bytes after the voxels that are read to reach the checksum of a gzip file.
    private static let maximumTailBytes = 64 << 20

    /// Streams the stored voxels through `convert` into a new buffer.
    private static func fill<Element: BitwiseCopyable & Sendable>(
        _ file: NIfTIOpenFile,
        volume: Int = 0,
        _ scope: ComputeScope,
        _ convert: (UnsafeRawPointer, Range<Int>, UnsafeMutablePointer<Element>) throws(NIfTIError) -> Void
    ) throws -> FrozenVoxels<Element> {
        var buffer: VoxelBuffer<Element>
        do {
            buffer = try VoxelBuffer<Element>(count: file.header.shape.count)
        } catch {
            throw NIfTIError(.outOfMemory, path: file.source.path, error.description)
        }
        try buffer.withUnsafeMutableBufferPointer { target in
            guard let base = target.baseAddress else { return }
            try stream(file, volume: volume, scope) { (chunk, range) throws(NIfTIError) in
                try convert(chunk, range, base)
            }
        }
        return buffer.frozen()
    }

    /// Passes the stored voxels of a volume to `body`, a chunk at a time, and continues reading up to the checksum.
    private static func stream(
        _ file: NIfTIOpenFile,
        volume: Int = 0,
        _ scope: ComputeScope,
        _ body: (UnsafeRawPointer, Range<Int>) throws(NIfTIError) -> Void
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
