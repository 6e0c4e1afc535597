public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem
internal import Synchronization

/// Decodes the pixels of a series into a volume.
///
/// JPEG (baseline, extended, progressive, lossless) and JPEG-LS are decoded by DCMTK, JPEG 2000 by OpenJPEG.
/// Uncompressed pixels are copied from the file. RLE is decoded here, because DCMTK accepts a truncated stream as an
/// image whose remaining part is blank. A frame is decoded independently of errors elsewhere in the file.
public enum DICOMReader {
    /// The voxels of a series without a problem, in its geometry: (i, j, k) = (column, row, slice), RAS+ mm.
    ///
    /// A stored value consists of the stored bits only; the high bit is its sign if PixelRepresentation is 1. Each
    /// slice's own RescaleSlope and RescaleIntercept (1 and 0 when missing) are applied in double and rounded once to
    /// Float; a modality table replaces them where the object has one. Overlays in unused bits are masked. Padding
    /// values are kept, as in dcm2niix, and MONOCHROME1 values are not inverted.
    ///
    /// A series with a ``DICOMSeries/correction`` is resampled, which temporarily needs another 4 bytes per stored
    /// voxel.
    ///
    /// Slices are decoded in parallel, each into its part of the volume. Memory: 4 bytes per voxel for the result, and
    /// for each thread one more slice, both compressed and decoded. The flag is checked before each slice.
    /// - Parameter note: takes every irregularity of the pixel data that could be handled: bytes skipped after the last
    ///   pixel, a rebuilt offset table. It is called before the return, on this thread, in a fixed order.
    /// - Throws: ``DICOMReadError``; if several slices are invalid, for the one with the lowest k. `CancelledError`
    ///   when the flag was raised.
    public static func readVolume(
        _ series: DICOMSeries,
        scope: ComputeScope,
        note: (Note) -> Void = { _ in }
    ) throws -> Volume {
        let path = series.slices.first?.path ?? ""
        if let problem = series.problem { throw problem }
        if let correction = series.correction { return try readCorrected(series, correction, scope: scope, note: note) }
        // The geometry is that of the slices unless somebody has changed the series: then positions would be wrong.
        guard let geometry = series.geometry, geometry.shape.z == series.slices.count, geometry.affine.isFinite else {
            throw DICOMReadError(.internalFault, path: path, detail: "a series without geometry")
        }
        let shape = geometry.shape
        for slice in series.slices where slice.plane.columns != shape.x || slice.plane.rows != shape.y {
            throw slice.error(.matricesDiffer, "rows and columns are not those of the series")
        }
        var buffer: VoxelBuffer<Float>
        do {
            buffer = try VoxelBuffer(count: shape.count)
        } catch {
            throw DICOMReadError(.tooLarge, path: path, detail: error.description)
        }
        let irregularities = try decode(series.slices, of: shape, into: &buffer, scope: scope)
        for (description, files) in irregularities.sorted(by: { $0.key < $1.key }) {
            let others: Sentence = files.count > 1 ? " and \(files.count - 1) more" : ""
            note(Note("dicom.pixelDataRepaired", "\(file: files.min() ?? "")\(others): \(description)"))
        }
        return Volume(geometry: geometry, voxels: buffer.frozen())
    }

    /// Decodes the slices in parallel, each into its part of the volume.
    /// - Returns: irregularities of the pixel data that could be handled, each with the affected files.
    private static func decode(
        _ slices: [DICOMSlice],
        of shape: VolumeShape,
        into buffer: inout VoxelBuffer<Float>,
        scope: ComputeScope
    ) throws -> [String: Set<String>] {
        let runs = SliceDecoder.Run.runs(of: slices)
        let irregularities = Mutex<[String: Set<String>]>([:])
        let fault = Mutex<(slice: Int, error: DICOMReadError)?>(nil)
        // Each run writes its own slices alone.
        try buffer.withParallelBuffer { (voxels) throws(CancelledError) in
            try scope.forEach(runs.count) { index in
                let run = runs[index]
                // Lower slices are still read after an error, so that the reported error does not depend on threads.
                if let lowest = fault.withLock({ $0?.slice }), lowest < run.first { return }
                var k = run.first
                do throws(DICOMReadError) {
                    let decoder = try SliceDecoder(of: run.slices[0].object)
                    for slice in run.slices {
                        if scope.flag.isCancelled { return }
                        let place = UnsafeMutableBufferPointer(
                            start: voxels + k * shape.sliceCount,
                            count: shape.sliceCount
                        )
                        try decoder.read(slice, into: place)
                        k += 1
                    }
                    let notes = decoder.notes
                    if !notes.isEmpty {
                        let file = run.slices[0].object.fileName
                        irregularities.withLock { for note in notes { $0[note, default: []].insert(file) } }
                    }
                } catch {
                    let found = (k, error)
                    fault.withLock { if $0.map({ found.0 < $0.slice }) ?? true { $0 = found } }
                }
            }
        }
        if let found = fault.withLock({ $0 }) { throw found.error }
        return irregularities.withLock { $0 }
    }

    /// The stored values of one grey slice, row by row, without slope, intercept and table. Exact up to 24 bits.
    package static func storedValues(of slice: DICOMSlice) throws(DICOMReadError) -> [Float] {
        guard let rows = slice.plane.rows, let columns = slice.plane.columns, rows > 0, columns > 0,
            rows.multipliedReportingOverflow(by: columns).partialValue <= 1 << 28
        else {
            throw slice.error(.badDimensions, "rows or columns are out of range")
        }
        // The decoder is opened first: it checks whether the file holds that many pixels.
        let decoder = try SliceDecoder(of: slice.object)
        var values = [Float](repeating: 0, count: rows * columns)
        try values.withUnsafeMutableBufferPointer { (place) throws(DICOMReadError) in
            try decoder.read(slice, rescales: false, into: place)
        }
        return values
    }

    /// The stored values of a frame of an object.
    package static func storedValues(of object: DICOMObject, frame: Int = 0) throws(DICOMReadError) -> [Float] {
        var slice = DICOMSlice(of: object)
        slice.frame = frame
        return try storedValues(of: slice)
    }
}
