public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Writes single `.nii` and `.nii.gz` files, little-endian.
///
/// NIfTI-1, or NIfTI-2 when a dimension is above 32,767. Slope 1 but for probabilities, intercept 0, millimetres, both
/// forms. The same input gives the same bytes for any number of threads: gzip files contain no time and no name. A file is
/// neither flushed to the disk nor removed after an error; the caller does both, and renames it.
///
/// Memory: at most ``compressionBytes`` besides the input. Compression uses Nocturne's own compressor
/// (``CNocturneDeflate``), in chunks of 1 MiB on all idle threads. There are no levels. Compared with zlib's level 1,
/// which nibabel uses, a CT becomes 1 to 19 % smaller and a label map a third smaller, in 0.37 and 0.47 of the
/// processor time (256³, Zen 5, see `Tools/benchmarks/geometry.py`); float32 noise becomes 4 % larger.
public enum NIfTIWriter {
    /// The maximum memory for compression, whatever the input and the number of threads.
    public static let compressionBytes = ParallelGzip.workingBytes

    /// The intent code of label maps.
    public static let labelIntentCode = 1002

    /// Writes a label map: uint8 when no value of `names` or voxel is above 255, else uint16; intent 1002; names and
    /// colours in a header extension as in Connectome Workbench (code 30).
    ///
    /// - Parameters:
    ///   - names: in any order; written by value. Label 0 is named "???" when it is not among them.
    ///   - forms: those of the image that was segmented. Nil (a DICOM source) gives the codes 1 and 1 (scanner
    ///     coordinates), and so do two zeros. The q-form holds rotation and reflection only: where it would misplace a
    ///     corner by more than a hundredth of the smallest spacing, its code is 0, and the s-form takes over that code if
    ///     it had none; but a sheared grid keeps the q-form of its image.
    ///   - compressed: whether to write gzip; nil decides by the extension `.gz`, which a temporary name may lack.
    /// - Throws: ``VolumeFileError`` with code `cannotWrite` and the system's reason, `invalidAffine`, `outOfMemory`;
    ///   `CancelledError` within a few milliseconds after the flag is raised.
    /// - Complexity: two passes over the voxels, both shared among threads.
    public static func writeLabels(
        _ labels: LabelVolume,
        names: [Label],
        forms: NIfTIForms?,
        to path: String,
        compressed: Bool? = nil,
        scope: ComputeScope
    ) throws {
        // The names, too: the type then depends on the model, and not on which labels an image happens to have.
        let largest = max(try largestValue(labels, scope), names.map(\.value).max() ?? 0)
        let dataType: StoredVoxelType = largest <= 255 ? .uint8 : .uint16
        let table = VolumeFileHeader.Extension(
            code: NIfTILabelTable.code,
            bytes: Array(NIfTILabelTable.xml(names).utf8)
        )
        let encoder = NIfTIHeaderEncoder(
            geometry: labels.geometry,
            dataType: dataType,
            intentCode: labelIntentCode,
            forms: forms ?? .scanner,
            extensions: [table]
        )
        let voxels = labels.voxels
        try write(encoder, to: path, compressed, scope) { range, target in
            if dataType == .uint8 {
                fill(range, of: voxels, target) { UInt8(truncatingIfNeeded: $0) }
            } else {
                fill(range, of: voxels, target) { $0.littleEndian }
            }
        }
    }

    /// Writes an image as float32, or as int16: rounded to the nearest (ties to even), clamped to the range, NaN as 0.
    ///
    /// - Parameters:
    ///   - dataType: `.float32` or `.int16`.
    ///   - forms: as for labels.
    /// - Throws: as for labels, and code `unsupportedDataType` for other types.
    public static func writeVolume(
        _ volume: Volume,
        as dataType: StoredVoxelType,
        forms: NIfTIForms? = nil,
        to path: String,
        scope: ComputeScope
    ) throws {
        guard dataType == .float32 || dataType == .int16 else {
            throw VolumeFileError(.unsupportedDataType, path: path, "images are not written as \(dataType)")
        }
        let encoder = NIfTIHeaderEncoder(geometry: volume.geometry, dataType: dataType, forms: forms ?? .scanner)
        let voxels = volume.voxels
        try write(encoder, to: path, nil, scope) { range, target in
            if dataType == .float32 {
                fill(range, of: voxels, target) { $0.bitPattern.littleEndian }
            } else {
                fill(range, of: voxels, target) { rounded($0).littleEndian }
            }
        }
    }

    /// Writes probabilities as uint8 with a slope of 1/255: readers that apply it see 0 to 1.
    ///
    /// Parameters and errors as for labels; values above 255 are lost.
    /// - Parameter map: whole numbers of 1/255.
    public static func writeProbabilities(
        _ map: LabelVolume,
        forms: NIfTIForms?,
        to path: String,
        scope: ComputeScope
    ) throws {
        let encoder = NIfTIHeaderEncoder(
            geometry: map.geometry,
            dataType: .uint8,
            slope: 1.0 / 255,
            forms: forms ?? .scanner
        )
        let voxels = map.voxels
        try write(encoder, to: path, nil, scope) { range, target in
            fill(range, of: voxels, target) { UInt8(truncatingIfNeeded: $0) }
        }
    }

    /// Writes grey values as uint8.
    ///
    /// Parameters and errors as for images; both form codes are 1.
    public static func writeGreys(
        _ greys: FrozenVoxels<UInt8>,
        geometry: VolumeGeometry,
        to path: String,
        scope: ComputeScope
    ) throws {
        let encoder = NIfTIHeaderEncoder(geometry: geometry, dataType: .uint8, forms: .scanner)
        try write(encoder, to: path, nil, scope) { range, target in
            greys.withUnsafeBufferPointer { source in
                target.copyMemory(from: source.baseAddress! + range.lowerBound, byteCount: range.count)
            }
        }
    }

    /// Writes a range of voxels in their stored form. Inlined with its closure: the loop is then one of vector instructions.
    @inline(__always)
    private static func fill<Value, Stored: BitwiseCopyable>(
        _ range: Range<Int>,
        of voxels: FrozenVoxels<Value>,
        _ target: UnsafeMutableRawPointer,
        _ stored: (Value) -> Stored
    ) {
        let place = target.bindMemory(to: Stored.self, capacity: range.count)
        voxels.withUnsafeBufferPointer { source in
            let first = source.baseAddress! + range.lowerBound
            for index in 0..<range.count { place[index] = stored(first[index]) }
        }
    }

    /// The nearest integer (ties to even), clamped to the range; 0 for NaN.
    ///
    /// Adding 3·2²² rounds and leaves the integer in the low bits; a conversion instruction would not be vectorised.
    @inline(__always)
    private static func rounded(_ value: Float) -> Int16 {
        let held = value > -32768 ? (value < 32767 ? value : 32767) : -32768
        let bits = (held + 0x1.8p23).bitPattern
        return value == value ? Int16(truncatingIfNeeded: bits) : 0
    }

    /// - Parameter fill: writes a range of voxels to the address in their stored form.
    private static func write(
        _ encoder: NIfTIHeaderEncoder,
        to path: String,
        _ compressed: Bool?,
        _ scope: ComputeScope,
        fill: @Sendable (Range<Int>, UnsafeMutableRawPointer) -> Void
    ) throws {
        let affine = encoder.geometry.affine
        guard affine.isFinite, affine.inverse != nil else {
            throw VolumeFileError(.invalidAffine, path: path, "cannot be written: the affine is singular or not finite")
        }
        let width = encoder.dataType.bytesPerVoxel
        let fillBytes: @Sendable (Range<Int>, UnsafeMutableRawPointer) -> Void = { bytes, target in
            // Chunks contain whole voxels: their size is a multiple of every width.
            fill(bytes.lowerBound / width..<bytes.upperBound / width, target)
        }
        let count = encoder.geometry.shape.count * width
        do {
            var output = try FileDescriptor(creating: path)
            if compressed ?? path.lowercased().hasSuffix(".gz") {
                try ParallelGzip.write(
                    prefix: encoder.encoded(),
                    count: count,
                    rows: .init(width: Int32(width), bytes: encoder.geometry.shape.x * width),
                    to: &output,
                    scope: scope,
                    fill: fillBytes
                )
            } else {
                try writePlain(prefix: encoder.encoded(), count: count, to: &output, scope: scope, fill: fillBytes)
            }
            try output.close()
        } catch is ParallelGzip.NoMemory {
            throw VolumeFileError(.outOfMemory, path: path, "no memory to compress")
        } catch let error as FileSystemError {
            throw VolumeFileError(.cannotWrite, writing: error)
        }
    }

    private static func writePlain(
        prefix: [UInt8],
        count: Int,
        to output: inout FileDescriptor,
        scope: ComputeScope,
        fill: @Sendable (Range<Int>, UnsafeMutableRawPointer) -> Void
    ) throws {
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: ParallelGzip.chunkBytes, alignment: 64)
        defer { chunk.deallocate() }
        try output.write(prefix)
        for start in stride(from: 0, to: count, by: ParallelGzip.chunkBytes) {
            try scope.check()
            let range = start..<min(count, start + ParallelGzip.chunkBytes)
            fill(range, chunk)
            try output.write(UnsafeRawBufferPointer(start: chunk, count: range.count))
        }
    }

    private static func largestValue(_ labels: LabelVolume, _ scope: ComputeScope) throws(CancelledError) -> UInt16 {
        // 2²⁰ voxels at a time.
        let parts = try scope.mapRanges(of: labels.voxels.count, by: 1 << 20) { range in
            var part: UInt16 = 0
            labels.voxels.withUnsafeBufferPointer { for index in range { part = max(part, $0[index]) } }
            return part
        }
        return parts.max() ?? 0
    }
}
