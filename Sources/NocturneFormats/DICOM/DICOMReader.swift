internal import CDCMTK
public import NocturneConcurrency
public import NocturneCore
internal import Synchronization

/// Decodes the pixels of a series into a volume.
///
/// Uncompressed, deflated, JPEG (baseline, extended, progressive, lossless) and JPEG-LS are decoded by DCMTK, JPEG 2000
/// by OpenJPEG. RLE is decoded here, since DCMTK takes a stream that ends early for a picture with a blank rest.
public enum DICOMReader {
    /// The voxels of a series without a problem, in its geometry: (i, j, k) = (column, row, slice), RAS+ mm.
    ///
    /// A stored value is the stored bits alone, the high bit being its sign where PixelRepresentation says so. Each
    /// slice's own RescaleSlope and RescaleIntercept (1 and 0 when missing) are applied in double and rounded once to
    /// Float. Padding values are kept, and so are those of MONOCHROME1.
    ///
    /// A series with a ``DICOMSeries/correction`` is resampled, which takes another 4 bytes a stored voxel meanwhile.
    ///
    /// Slices are decoded in parallel, each into its place. 4 bytes a voxel for the result; each thread holds one slice
    /// more, compressed and not. The flag is looked at before each slice.
    /// - Throws: ``DICOMReadError``; of several faulty slices that with the lowest k is named. Its code is
    ///   ``DICOMReadError/Code/cancelled`` when the flag was raised.
    public static func readVolume(_ series: DICOMSeries, scope: ComputeScope) throws(DICOMReadError) -> Volume {
        let path = series.slices.first?.path ?? ""
        if let problem = series.problem { throw problem }
        if let correction = series.correction { return try readCorrected(series, correction, scope: scope) }
        guard let geometry = series.geometry, geometry.shape.z == series.slices.count, geometry.affine.isFinite else {
            throw DICOMReadError(.internalFault, path: path, detail: "a series without geometry")
        }
        let shape = geometry.shape
        for slice in series.slices where slice.columns != shape.x || slice.rows != shape.y {
            throw DICOMReadError(
                .matricesDiffer,
                path: slice.path,
                detail: "rows and columns are not those of the series"
            )
        }
        var buffer: VoxelBuffer<Float>
        do {
            buffer = try VoxelBuffer(count: shape.count)
        } catch {
            throw DICOMReadError(.tooLarge, path: path, detail: error.description)
        }
        let slices = series.slices
        try buffer.withUnsafeMutableBufferPointer { (voxels) throws(DICOMReadError) in
            // Unsafe only in name: each index writes its own slice, and forEach ends before the pointer does.
            nonisolated(unsafe) let voxels = voxels
            let fault = Mutex<(slice: Int, error: DICOMReadError)?>(nil)
            do {
                try scope.forEach(slices.count) { k in
                    // Lower slices are still read after a fault, so that the fault named does not depend on threads.
                    if let lowest = fault.withLock({ $0?.slice }), lowest < k { return }
                    let place = UnsafeMutableBufferPointer(
                        rebasing: voxels[k * shape.sliceCount..<(k + 1) * shape.sliceCount]
                    )
                    do throws(DICOMReadError) {
                        try decode(slices[k].object, slope: nil, into: place)
                    } catch {
                        fault.withLock { if $0.map({ k < $0.slice }) ?? true { $0 = (k, error) } }
                    }
                }
            } catch {
                throw DICOMReadError(.cancelled, path: path, detail: "cancelled")
            }
            if let found = fault.withLock({ $0 }) { throw found.error }
        }
        return Volume(geometry: geometry, voxels: buffer.frozen())
    }

    /// The stored values of one grey single-frame object, row by row, without slope and intercept. Exact up to 24 bits.
    package static func storedValues(of slice: DICOMSlice) throws(DICOMReadError) -> [Float] {
        try storedValues(of: slice.object)
    }

    package static func storedValues(of object: DICOMObject) throws(DICOMReadError) -> [Float] {
        guard let rows = object.rows, let columns = object.columns, rows > 0, columns > 0,
            rows.multipliedReportingOverflow(by: columns).partialValue <= 1 << 28
        else {
            throw DICOMReadError(.unsupportedPixels, path: object.path, detail: "rows or columns are out of range")
        }
        var values = [Float](repeating: 0, count: rows * columns)
        try values.withUnsafeMutableBufferPointer { (place) throws(DICOMReadError) in
            try decode(object, slope: (1, 0), into: place)
        }
        return values
    }

    /// Decodes one object into `place`, with its own slope and intercept unless others are given.
    private static func decode(
        _ object: DICOMObject,
        slope: (Double, Double)?,
        into place: UnsafeMutableBufferPointer<Float>
    ) throws(DICOMReadError) {
        guard let rows = object.rows, let columns = object.columns, rows <= 65535, columns <= 65535,
            let bits = object.bitLayout
        else {
            throw DICOMReadError(
                .unsupportedPixels,
                path: object.path,
                detail: "rows, columns or bits are missing or not read"
            )
        }
        var error = cdcmtk_error()
        var decoder: OpaquePointer?
        var code = cdcmtk_decoder_open(object.path, &decoder, &error)
        guard code == CDCMTK_OK, let decoder else { throw DICOMReadError(code, error, path: object.path) }
        defer { cdcmtk_decoder_close(decoder) }
        var layout = cdcmtk_pixel_layout(
            rows: Int32(rows),
            columns: Int32(columns),
            bits_allocated: Int32(bits.allocated),
            bits_stored: Int32(bits.stored),
            high_bit: Int32(bits.highBit),
            is_signed: bits.isSigned ? 1 : 0
        )
        let (factor, offset) = slope ?? (object.rescaleSlope ?? 1, object.rescaleIntercept ?? 0)
        code = cdcmtk_decoder_read_frame(
            decoder,
            0,
            &layout,
            factor,
            offset,
            place.baseAddress,
            place.count,
            &error
        )
        guard code == CDCMTK_OK else { throw DICOMReadError(code, error, path: object.path) }
    }
}
