import NocturneConcurrency
import NocturneCore
import NocturneRadiomics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Processing of images and masks")
struct ProcessingTests {
    /// Intensities of a function of the position in mm.
    private func extractor(
        _ shape: VolumeShape,
        spacing: SIMD3<Double>,
        settings: RadiomicsSettings,
        flag: CancellationFlag = CancellationFlag(),
        mask: (Int, Int, Int) -> UInt16 = { _, _, _ in 1 },
        intensity: (SIMD3<Double>) -> Double
    ) throws -> RegionExtractor {
        var image: [Float] = []
        var labels: [UInt16] = []
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    image.append(Float(intensity(SIMD3(Double(i), Double(j), Double(k)) * spacing)))
                    labels.append(mask(i, j, k))
                }
            }
        }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(spacing))
        return try RegionExtractor(
            image: Volume(geometry: geometry, voxels: try FrozenVoxels(image)),
            labels: LabelVolume(geometry: geometry, voxels: try FrozenVoxels(labels)),
            settings: settings,
            scope: .serial(flag)
        )
    }

    private func settings(_ spacing: SIMD3<Double>?, _ kernel: RadiomicsSettings.Kernel = .linear) -> RadiomicsSettings
    {
        var settings = RadiomicsSettings()
        settings.interpolation.spacing = spacing
        settings.interpolation.image = kernel
        return settings
    }

    @Test("a grid is kept, and a region is the box of its label")
    func keptGrid() throws {
        let shape = VolumeShape(x: 6, y: 5, z: 4)
        let extractor = try extractor(shape, spacing: SIMD3(1, 1, 3), settings: settings(nil)) { i, j, k in
            (1..<4).contains(i) && j == 2 && k > 1 ? 7 : 0
        } intensity: {
            $0.x + 10 * $0.y
        }
        #expect(extractor.values == [7])
        let region = try extractor.region(of: 7)
        #expect(region.shape == VolumeShape(x: 3, y: 1, z: 2))
        #expect(region.intensities == [21, 22, 23, 21, 22, 23])
        #expect(region.spacing == SIMD3(1, 1, 3))
        #expect(throws: FeatureAbsence.noVoxels) { try extractor.region(of: 1) }
    }

    @Test("the gradient of a histogram begins at the first bin, not at the least level")
    func gradient() throws {
        var settings = settings(nil)
        settings.resegmentation = RadiomicsSettings.Resegmentation(lower: -1000)
        settings.discretisation = RadiomicsSettings.Discretisation(method: .fixedBinSize, binWidth: 25)
        settings.families = [.intensityHistogram]
        // Three voxels in bin 41 and one in bin 42.
        let extractor = try extractor(VolumeShape(x: 4, y: 1, z: 1), spacing: SIMD3(1, 1, 1), settings: settings) {
            $0.x < 2.5 ? 10 : 35
        }
        let values = try Radiomics.values(of: extractor.region(of: 1), settings: settings, scope: .serial())
        func value(_ name: String) -> Double? { values.first { $0.name == name }?.value }
        #expect(value("ih_max_grad") == 1.5 && value("ih_max_grad_g") == 40)
        #expect(value("ih_min_grad") == -2 && value("ih_min_grad_g") == 42)
    }

    @Test("both grids have the same centre, and the new one covers the old one")
    func alignedCentres() {
        let axis = AxisInterpolation(count: 204, spacing: 0.9765625, to: 2)
        #expect(axis.count == 100)
        let places = (0..<100).map(axis.place)
        #expect(isClose((places[49] + places[50]) / 2, 203.0 / 2, absolute: 1e-9))
        #expect(isClose(places[50] - places[49], 2 / 0.9765625, relative: 1e-12))
        // Exactly covered, in spite of rounding.
        #expect(AxisInterpolation(count: 60, spacing: 3, to: 2).count == 90)
        #expect(AxisInterpolation(count: 30, spacing: 0.1, to: 0.3).count == 10)
        #expect(AxisInterpolation(count: 7, spacing: 2, to: 0).keepsGrid)
    }

    @Test(
        "linear functions are met by linear and by cubic interpolation",
        arguments: [RadiomicsSettings.Kernel.linear, .cubic]
    )
    func linearFunction(kernel: RadiomicsSettings.Kernel) throws {
        let shape = VolumeShape(x: 40, y: 36, z: 34)
        let extractor = try extractor(shape, spacing: SIMD3(1, 1.5, 2), settings: settings(SIMD3(0.8, 0.8, 0), kernel))
        {
            i,
            j,
            k in
            (18..<22).contains(i) && (17..<19).contains(j) && k == 17 ? 1 : 0
        } intensity: {
            3 * $0.x - 2 * $0.y + $0.z
        }
        let region = try extractor.region(of: 1)
        // Along a row and a column the value changes by the slope times the distance.
        let values = region.intensities
        for k in 0..<region.shape.z {
            for i in 1..<region.shape.x {
                let place = region.shape.offset(i, 0, k)
                #expect(isClose(values[place] - values[place - 1], 2.4, absolute: 1e-4))
            }
            let place = region.shape.offset(0, 1, k)
            #expect(isClose(values[place] - values[region.shape.offset(0, 0, k)], -1.6, absolute: 1e-4))
        }
    }

    @Test("a cubic spline goes through the voxels")
    func splineMeetsVoxels() {
        var random = SplitMix64(seed: 3)
        let voxels = (0..<50).map { _ in Double.random(in: -1...1, using: &random) }
        var coefficients = voxels
        coefficients.withUnsafeMutableBufferPointer { SplineFilter.apply($0, start: 0, step: 1, count: 50) }
        for place in 1..<49 {
            let value = (coefficients[place - 1] + 4 * coefficients[place] + coefficients[place + 1]) / 6
            #expect(isClose(value, voxels[place], absolute: 1e-12))
        }
        // Mirrored at both ends.
        #expect(isClose((4 * coefficients[0] + 2 * coefficients[1]) / 6, voxels[0], absolute: 1e-12))
        #expect(isClose((4 * coefficients[49] + 2 * coefficients[48]) / 6, voxels[49], absolute: 1e-12))
    }

    @Test("a voxel belongs to the region from half of it on")
    func partialVolume() throws {
        // Two voxels of 1 mm become one of 2 mm: half of its weight is in the mask.
        let shape = VolumeShape(x: 4, y: 2, z: 2)
        let half = try extractor(shape, spacing: SIMD3(1, 1, 1), settings: settings(SIMD3(2, 2, 2))) { i, _, _ in
            i == 0 ? 1 : 0
        } intensity: {
            $0.x
        }
        #expect(try half.region(of: 1).shape == VolumeShape(x: 1, y: 1, z: 1))
        var stricter = settings(SIMD3(2, 2, 2))
        stricter.interpolation.partialVolume = 0.6
        let none = try extractor(shape, spacing: SIMD3(1, 1, 1), settings: stricter) { i, _, _ in
            i == 0 ? 1 : 0
        } intensity: {
            $0.x
        }
        #expect(throws: FeatureAbsence.noVoxels) { try none.region(of: 1) }
    }

    @Test("re-segmentation changes the intensity mask only")
    func resegmentation() throws {
        var settings = settings(nil)
        settings.resegmentation = RadiomicsSettings.Resegmentation(lower: 2, upper: 5)
        let extractor = try extractor(
            VolumeShape(x: 8, y: 1, z: 1),
            spacing: SIMD3(1, 1, 1),
            settings: settings
        ) { $0.x }
        let region = try extractor.region(of: 1)
        #expect(region.morphology == [UInt8](repeating: 1, count: 8))
        #expect(region.intensityMask == [0, 0, 1, 1, 1, 1, 0, 0])
    }

    @Test("outliers are those of the region as it was drawn")
    func outliers() throws {
        var settings = settings(nil)
        settings.resegmentation = RadiomicsSettings.Resegmentation(outlierSigmas: 3)
        let extractor = try extractor(
            VolumeShape(x: 20, y: 1, z: 1),
            spacing: SIMD3(1, 1, 1),
            settings: settings
        ) { $0.x == 19 ? 1000 : $0.x }
        let region = try extractor.region(of: 1)
        #expect(region.intensityMask == [UInt8](repeating: 1, count: 19) + [0])
    }

    @Test("intensities are rounded, halves to even")
    func rounding() throws {
        var settings = settings(nil)
        settings.interpolation.roundsIntensities = true
        let extractor = try extractor(
            VolumeShape(x: 4, y: 1, z: 1),
            spacing: SIMD3(1, 1, 1),
            settings: settings
        ) { $0.x + 0.5 }
        #expect(try extractor.region(of: 1).intensities == [0, 2, 2, 4])
    }

    @Test("bins of fixed width begin at the range, bins of a fixed number at the least intensity")
    func bins() throws {
        let region = try #require(
            RadiomicsRegion(
                shape: VolumeShape(x: 4, y: 1, z: 1),
                spacing: SIMD3(1, 1, 1),
                intensities: [-3, 0, 24.9, 97],
                mask: [1, 1, 1, 1]
            )
        )
        func levels(_ discretisation: RadiomicsSettings.Discretisation) -> [Double] {
            let bins = Bins(of: region, discretisation)
            return region.intensities.map { bins.level(Double($0)) }
        }
        #expect(levels(.init(method: .fixedBinSize, binWidth: 25)) == [1, 1, 2, 5])
        #expect(levels(.init(method: .fixedBinSize, binWidth: 25, origin: .multiple)) == [1, 2, 2, 5])
        #expect(levels(.init(method: .fixedBinNumber, binCount: 4)) == [1, 1, 2, 4])
    }

    @Test("around tiny voxels, the sphere of local intensity is the whole image", arguments: [1e-6, 1e-24])
    func tinyVoxels(spacing: Double) throws {
        var settings = settings(nil)
        settings.families = [.localIntensity]
        let shape = VolumeShape(x: 5, y: 4, z: 3)
        let extractor = try extractor(shape, spacing: SIMD3(repeating: spacing), settings: settings) { i, _, _ in
            i == 4 ? 1 : 0
        } intensity: {
            ($0.x / spacing).rounded()
        }
        let values = try Radiomics.values(of: extractor.region(of: 1), settings: settings, scope: .serial())
        #expect(values.map(\.value) == [2, 2])
    }

    @Test("a region is not interpolated after cancellation", arguments: [RadiomicsSettings.Kernel.linear, .cubic])
    func cancelled(kernel: RadiomicsSettings.Kernel) throws {
        let (shape, flag) = (VolumeShape(x: 9, y: 3, z: 3), CancellationFlag())
        let settings = settings(SIMD3(0.5, 0.5, 0.5), kernel)
        let extractor = try extractor(shape, spacing: SIMD3(1, 1, 1), settings: settings, flag: flag) { $0.x }
        flag.cancel()
        #expect(throws: CancelledError.self) { try extractor.region(of: 1) }
    }

    @Test("a voxel that is not a number spreads to its neighbours only")
    func notANumber() throws {
        let extractor = try extractor(
            VolumeShape(x: 9, y: 3, z: 3),
            spacing: SIMD3(1, 1, 1),
            settings: settings(SIMD3(1.5, 0, 0))
        ) { $0 == SIMD3(0, 0, 0) ? .nan : $0.x }
        let region = try extractor.region(of: 1)
        #expect(region.intensities.count(where: \.isNaN) == 1)
    }

    @Test(
        "a region that would have too many voxels is refused before memory is allocated, also where they cannot be counted",
        arguments: [SIMD3(3.0, 3, 3), SIMD3(1e15, 1e15, 1e15), SIMD3(1, 1, 1e80)]
    )
    func tooLarge(spacing: SIMD3<Double>) throws {
        let (shape, settings) = (VolumeShape(x: 50, y: 50, z: 50), settings(SIMD3(0.05, 0.05, 0.05)))
        let extractor = try extractor(shape, spacing: spacing, settings: settings) { $0.x }
        #expect(throws: FeatureAbsence.tooLarge) { try extractor.region(of: 1) }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(spacing))
        let bytes = RegionExtractor.predictedBytes(geometry, settings: settings, maximumVoxels: 1000, threads: 1)
        #expect((90_000...(1 << 30)).contains(bytes))
    }
}
