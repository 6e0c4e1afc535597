internal import NocturneCore
package import NocturneSystem

/// Moran's I and Geary's C of a region, with the inverse distances of all pairs of voxels as weights.
///
/// The sums over pairs are convolutions with the inverse distance: of the mask, and of the deviations from the mean, both
/// at once as real and imaginary part. They are computed as products of Fourier transforms, over a box of twice the
/// size, so that nothing wraps around. Only the transform along i is kept whole; those along j and k are made plane by
/// plane. Time: n log n in the voxels of the box. Memory: 24 bytes per voxel of the box, and ten planes.
package struct SpatialAutocorrelation: Sendable {
    /// Moran's I; NaN for fewer than two voxels or equal intensities.
    package let moran: Double
    /// Geary's C; NaN in the same cases.
    package let geary: Double

    /// - Parameters:
    ///   - region: intensities are finite. Both measures are NaN for fewer than two voxels or equal intensities.
    ///   - flag: once it is raised, the loops end and both measures mean nothing.
    package init(of region: RadiomicsRegion, flag: CancellationFlag = CancellationFlag()) {
        let values = region.values()
        let count = Double(values.count)
        let (mean, squares) = values.moments()
        guard count > 1, squares > 0 else {
            (moran, geary) = (.nan, .nan)
            return
        }
        let sums = InverseDistanceConvolution(region, mean: mean, flag: flag).sums()
        moran = count * sums.products / (sums.weights * squares)
        // The square of a difference of two deviations, summed over ordered pairs, is twice the squares less twice the products;
        // the 2 in the denominator of the formula cancels it.
        geary = (count - 1) * (sums.squares - sums.products) / (sums.weights * squares)
    }
}

extension SpatialAutocorrelation {
    /// The convolution of mask and deviations with the inverse distance.
    fileprivate struct InverseDistanceConvolution {
        private let region: RadiomicsRegion
        private let mean: Double
        private let flag: CancellationFlag
        private let shape: VolumeShape
        /// The sequences along i, j and k, and their transforms.
        private let along: (x: FourierTransform, y: FourierTransform, z: FourierTransform)

        /// Rows that are transformed along i at once.
        private static let lanes = 64

        struct Sums {
            /// Of the weights of all ordered pairs.
            var weights = 0.0
            /// Of weights times the product of both deviations.
            var products = 0.0
            /// Of weights times the square of one deviation.
            var squares = 0.0
        }

        init(_ region: RadiomicsRegion, mean: Double, flag: CancellationFlag) {
            self.region = region
            self.mean = mean
            self.flag = flag
            shape = region.shape
            func transform(_ size: Int) -> FourierTransform {
                FourierTransform(length: FourierTransform.goodLength(atLeast: 2 * size - 1))
            }
            along = (transform(shape.x), transform(shape.y), transform(shape.z))
        }

        func sums() -> Sums {
            let spectrum = ComplexArray(count: along.x.length * rows)
            let kernel = kernelAlongX()
            transformRows(to: spectrum)
            let planes = PlaneConvolution(shape: shape, along: (along.y, along.z))
            // Planes u and −u have the same kernel.
            for u in 0...along.x.length / 2 where !flag.isCancelled {
                planes.prepareKernel(kernel.storage + u * rows)
                planes.convolve(spectrum.part(from: u * rows))
                let mirrored = (along.x.length - u) % along.x.length
                if mirrored != u { planes.convolve(spectrum.part(from: mirrored * rows)) }
            }
            return collectedSums(spectrum)
        }

        /// Rows along i: one for each j and k.
        private var rows: Int { shape.y * shape.z }

        /// The transform along i of the inverse distance for each u, j and k: real, because distances are symmetric.
        private func kernelAlongX() -> FloatArray {
            let length = along.x.length
            let kernel = FloatArray(count: (length / 2 + 1) * rows)
            let (data, scratch) = (ComplexArray(count: length * Self.lanes), ComplexArray(count: length * Self.lanes))
            for first in stride(from: 0, to: rows, by: Self.lanes) where !flag.isCancelled {
                let lanes = min(Self.lanes, rows - first)
                for lane in 0..<lanes {
                    let (j, k) = ((first + lane) % shape.y, (first + lane) / shape.y)
                    let y = Double(j) * region.spacing.y
                    let z = Double(k) * region.spacing.z
                    for n in 0..<length {
                        let x = Double(min(n, length - n)) * region.spacing.x
                        let square = x * x + y * y + z * z
                        // The weight of a voxel with itself is 0.
                        data.real[n * lanes + lane] = square > 0 ? Float(1 / square.squareRoot()) : 0
                        data.imaginary[n * lanes + lane] = 0
                    }
                }
                along.x.transform(data.buffers, scratch: scratch.buffers, lanes: lanes)
                for u in 0...length / 2 {
                    (kernel.storage + u * rows + first).update(from: data.real + u * lanes, count: lanes)
                }
            }
            return kernel
        }

        /// Transforms mask and deviations along i.
        private func transformRows(to spectrum: ComplexArray) {
            let length = along.x.length
            let (data, scratch) = (ComplexArray(count: length * Self.lanes), ComplexArray(count: length * Self.lanes))
            for first in stride(from: 0, to: rows, by: Self.lanes) where !flag.isCancelled {
                let lanes = min(Self.lanes, rows - first)
                data.clear(length * lanes)
                for lane in 0..<lanes {
                    let start = (first + lane) * shape.x
                    for i in 0..<shape.x where region.intensityMask[start + i] != 0 {
                        data.real[i * lanes + lane] = 1
                        data.imaginary[i * lanes + lane] = Float(Double(region.intensities[start + i]) - mean)
                    }
                }
                along.x.transform(data.buffers, scratch: scratch.buffers, lanes: lanes)
                for u in 0..<length {
                    spectrum.part(from: u * rows + first).update(from: data.part(from: u * lanes), count: lanes)
                }
            }
        }

        /// Transforms back along i, and adds up in the order of the voxels.
        private func collectedSums(_ spectrum: ComplexArray) -> Sums {
            let length = along.x.length
            let (data, scratch) = (ComplexArray(count: length * Self.lanes), ComplexArray(count: length * Self.lanes))
            var sums = Sums()
            for first in stride(from: 0, to: rows, by: Self.lanes) where !flag.isCancelled {
                let lanes = min(Self.lanes, rows - first)
                for u in 0..<length {
                    data.part(from: u * lanes).update(from: spectrum.part(from: u * rows + first), count: lanes)
                }
                along.x.transform(data.buffers.exchanged, scratch: scratch.buffers.exchanged, lanes: lanes)
                for lane in 0..<lanes {
                    let start = (first + lane) * shape.x
                    for i in 0..<shape.x where region.intensityMask[start + i] != 0 {
                        let deviation = Double(region.intensities[start + i]) - mean
                        let weight = Double(data.real[i * lanes + lane])
                        sums.weights += weight
                        sums.products += deviation * Double(data.imaginary[i * lanes + lane])
                        sums.squares += deviation * deviation * weight
                    }
                }
            }
            let scale = 1 / Double(length * along.y.length * along.z.length)
            return Sums(weights: sums.weights * scale, products: sums.products * scale, squares: sums.squares * scale)
        }
    }

    /// Convolutions of planes of j and k with a kernel, by transforms along both.
    ///
    /// A plane is k after k: element (j, k) at j + y · k.
    fileprivate final class PlaneConvolution {
        private let shape: VolumeShape
        private let along: (y: FourierTransform, z: FourierTransform)
        /// The transform of the kernel, as `turned`: real.
        private let kernel: FloatArray
        /// Padded along j: sequences over j, one lane for each k of the box.
        private let columns: ComplexArray
        /// Padded along both: sequences over k, one lane for each transformed j.
        private let turned: ComplexArray
        private let scratch: ComplexArray

        init(shape: VolumeShape, along: (FourierTransform, FourierTransform)) {
            self.shape = shape
            self.along = along
            let all = along.0.length * along.1.length
            kernel = FloatArray(count: all)
            columns = ComplexArray(count: all)
            turned = ComplexArray(count: all)
            scratch = ComplexArray(count: all)
        }

        /// - Parameter plane: the kernel for one frequency along i, of the distances 0 and above.
        func prepareKernel(_ plane: UnsafeMutablePointer<Float>) {
            let (lengthY, lengthZ) = (along.y.length, along.z.length)
            turned.clear(lengthY * lengthZ)
            for z in 0..<lengthZ {
                let k = min(z, lengthZ - z)
                guard k < shape.z else { continue }
                for y in 0..<lengthY {
                    let j = min(y, lengthY - y)
                    if j < shape.y { turned.real[z * lengthY + y] = plane[j + shape.y * k] }
                }
            }
            along.z.transform(turned.buffers, scratch: scratch.buffers, lanes: lengthY)
            transpose(turned, lengthZ, lengthY, to: columns)
            along.y.transform(columns.buffers, scratch: scratch.buffers, lanes: lengthZ)
            for z in 0..<lengthZ {
                for y in 0..<lengthY { kernel.storage[z * lengthY + y] = columns.real[y * lengthZ + z] }
            }
        }

        /// Replaces a plane by its convolution with the kernel, times the number of elements of the transforms.
        func convolve(_ plane: FourierTransform.Buffers) {
            let (lengthY, lengthZ) = (along.y.length, along.z.length)
            columns.clear(lengthY * shape.z)
            for k in 0..<shape.z {
                for j in 0..<shape.y {
                    columns.real[j * shape.z + k] = plane.real[j + shape.y * k]
                    columns.imaginary[j * shape.z + k] = plane.imaginary[j + shape.y * k]
                }
            }
            along.y.transform(columns.buffers, scratch: scratch.buffers, lanes: shape.z)
            turned.clear(lengthY * lengthZ)
            transpose(columns, lengthY, shape.z, to: turned)
            along.z.transform(turned.buffers, scratch: scratch.buffers, lanes: lengthY)
            for place in 0..<lengthY * lengthZ {
                turned.real[place] *= kernel.storage[place]
                turned.imaginary[place] *= kernel.storage[place]
            }
            along.z.transform(turned.buffers.exchanged, scratch: scratch.buffers.exchanged, lanes: lengthY)
            transpose(turned, shape.z, lengthY, to: columns)
            along.y.transform(columns.buffers.exchanged, scratch: scratch.buffers.exchanged, lanes: shape.z)
            for k in 0..<shape.z {
                for j in 0..<shape.y {
                    plane.real[j + shape.y * k] = columns.real[j * shape.z + k]
                    plane.imaginary[j + shape.y * k] = columns.imaginary[j * shape.z + k]
                }
            }
        }

        private func transpose(_ source: ComplexArray, _ rows: Int, _ columns: Int, to target: ComplexArray) {
            for row in 0..<rows {
                for column in 0..<columns {
                    target.real[column * rows + row] = source.real[row * columns + column]
                    target.imaginary[column * rows + row] = source.imaginary[row * columns + column]
                }
            }
        }
    }

    /// An array whose elements loops reach without a check.
    fileprivate final class FloatArray {
        let storage: UnsafeMutablePointer<Float>

        init(count: Int) {
            storage = .allocate(capacity: max(count, 1))
            storage.initialize(repeating: 0, count: max(count, 1))
        }

        deinit { storage.deallocate() }
    }

    fileprivate final class ComplexArray {
        let real: UnsafeMutablePointer<Float>
        let imaginary: UnsafeMutablePointer<Float>

        init(count: Int) {
            real = .allocate(capacity: max(count, 1))
            imaginary = .allocate(capacity: max(count, 1))
            clear(max(count, 1))
        }

        deinit {
            real.deallocate()
            imaginary.deallocate()
        }

        func clear(_ count: Int) {
            real.initialize(repeating: 0, count: count)
            imaginary.initialize(repeating: 0, count: count)
        }

        var buffers: FourierTransform.Buffers { part(from: 0) }

        func part(from offset: Int) -> FourierTransform.Buffers {
            FourierTransform.Buffers(real: real + offset, imaginary: imaginary + offset)
        }
    }
}

extension FourierTransform.Buffers {
    fileprivate func update(from other: FourierTransform.Buffers, count: Int) {
        real.update(from: other.real, count: count)
        imaginary.update(from: other.imaginary, count: count)
    }
}
