internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension StackCorrection {
    /// Shifts and interpolates the slices of `stored`, which has the correction's stored shape.
    ///
    /// Each voxel is a sum in double of at most eight stored ones, so the result does not depend on threads. Needs 4
    /// bytes per voxel of the result; the flag is checked before each plane.
    /// - Throws: `CancelledError`; `AllocationError`.
    func voxels(of stored: FrozenVoxels<Float>, scope: ComputeScope) throws -> FrozenVoxels<Float> {
        let shape = geometry.shape
        let fill = try least(stored, scope: scope)
        var result = try VoxelBuffer<Float>(count: shape.count)
        // Each index writes its own plane alone.
        try stored.withParallelReader { source in
            try result.withParallelBuffer { result in
                try scope.forEach(shape.z) { k in
                    make(
                        k,
                        from: UnsafeBufferPointer(start: source.base, count: stored.count),
                        fill: fill,
                        into: UnsafeMutableBufferPointer(start: result + k * shape.sliceCount, count: shape.sliceCount)
                    )
                }
            }
        }
        return result.frozen()
    }

    /// The smallest value: air in CT, no signal in MR.
    private func least(_ stored: FrozenVoxels<Float>, scope: ComputeScope) throws -> Float {
        let shape = storedShape
        let leasts = try stored.withParallelReader { stored in
            try scope.map(shape.z) { k in
                UnsafeBufferPointer(start: stored + k * shape.sliceCount, count: shape.sliceCount).min() ?? 0
            }
        }
        let least = leasts.min() ?? 0
        return least.isFinite ? least : 0
    }

    private func make(
        _ k: Int,
        from stored: UnsafeBufferPointer<Float>,
        fill: Float,
        into plane: UnsafeMutableBufferPointer<Float>
    ) {
        let (grid, own) = (geometry.shape, storedShape)
        let source = planes[k]
        let lower = Row(shifts[source.lower], own, stored, slice: source.lower)
        let upper =
            source.weight > 0
            ? Row(shifts[source.lower + 1], own, stored, slice: source.lower + 1) : lower
        for j in 0..<grid.y {
            for i in 0..<grid.x {
                let (below, above) = (lower.value(i, j), upper.value(i, j))
                let value: Double? =
                    // Where only one slice has a pixel, the nearer slice decides: its pixel, or the fill value. A mixture of both
                    // would be a value that no slice has.
                    if let below, let above {
                        source.weight > 0 ? below + (above - below) * source.weight : below
                    } else if source.weight < 0.5 {
                        below
                    } else {
                        above
                    }
                plane[j * grid.x + i] = value.map(Float.init) ?? fill
            }
        }
    }

    /// A row of a stored slice, shifted by the same amount for all its pixels.
    private struct Row {
        let whole: SIMD2<Int>
        /// The weights of the pixel at the integer shift before, and of the next one.
        let part: SIMD2<Double>
        let shape: VolumeShape
        let pixels: UnsafeBufferPointer<Float>

        init(_ shift: SIMD2<Double>, _ shape: VolumeShape, _ stored: UnsafeBufferPointer<Float>, slice: Int) {
            // A voxel of the grid is between pixel (index - whole) and the next one.
            let up = SIMD2(shift.x.rounded(.up), shift.y.rounded(.up))
            whole = SIMD2(Int(up.x), Int(up.y))
            part = up - shift
            self.shape = shape
            pixels = UnsafeBufferPointer(
                rebasing: stored[slice * shape.sliceCount..<(slice + 1) * shape.sliceCount]
            )
        }

        /// Nil outside the slice.
        @inline(__always)
        func value(_ i: Int, _ j: Int) -> Double? {
            let (x, y) = (i - whole.x, j - whole.y)
            guard x >= 0, y >= 0, x < shape.x, y < shape.y else { return nil }
            let upper = between(x, y)
            guard part.y > 0, y + 1 < shape.y else { return upper }
            return upper + (between(x, y + 1) - upper) * part.y
        }

        @inline(__always)
        private func between(_ x: Int, _ y: Int) -> Double {
            let value = Double(pixels[y * shape.x + x])
            guard part.x > 0, x + 1 < shape.x else { return value }
            return value + (Double(pixels[y * shape.x + x + 1]) - value) * part.x
        }
    }
}

extension DICOMReader {
    /// Reads the slices as stored, and resamples them.
    static func readCorrected(
        _ series: DICOMSeries,
        _ correction: StackCorrection,
        scope: ComputeScope,
        note: (Note) -> Void
    ) throws -> Volume {
        var stored = series
        stored.correction = nil
        stored.geometry = VolumeGeometry(shape: correction.storedShape, affine: correction.geometry.affine)
        let volume = try readVolume(stored, scope: scope, note: note)
        let path = series.slices.first?.object.path ?? ""
        do {
            let voxels = try correction.voxels(of: volume.voxels, scope: scope)
            return Volume(geometry: correction.geometry, voxels: voxels)
        } catch let error as AllocationError {
            throw DICOMReadError(.tooLarge, path: path, detail: "\(error)")
        }
    }
}
