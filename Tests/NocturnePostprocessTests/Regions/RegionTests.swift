import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Regions of interest")
struct RegionTests {
    /// Every voxel has its own number.
    private func image(_ shape: VolumeShape, _ affine: Affine) throws -> Volume {
        Volume(
            geometry: VolumeGeometry(shape: shape, affine: affine),
            voxels: try FrozenVoxels((0..<shape.count).map(Float.init))
        )
    }

    private func measure(_ shape: RegionOfInterest.Shape, _ space: RegionOfInterest.Space, on image: Volume) throws
        -> RegionMeasurement
    {
        try RegionMeasurement.measure(
            RegionOfInterest(name: "x", space: space, shape: shape),
            on: image,
            scope: .serial()
        )
    }

    @Test("A length over flat voxels is the length in the patient, by Pythagoras")
    func length() throws {
        let image = try image(VolumeShape(x: 8, y: 8, z: 8), .scaling(SIMD3(0.5, 1, 6)))
        let line = RegionOfInterest.Shape.length([SIMD3(0, 0, 0), SIMD3(4, 1.5, 1), SIMD3(4, 1.5, 2)])
        let found = try measure(line, .voxel, on: image)
        #expect(abs((found.length ?? 0) - (6.5 + 6)) < 1e-12)
        #expect(found.area == nil && found.intensity == nil && found.sampleCount == nil)
    }

    @Test("Angles of flat and straight arms, and of arms that differ by voxel size")
    func angles() throws {
        let image = try image(VolumeShape(x: 4, y: 4, z: 4), .scaling(SIMD3(1, 2, 5)))
        func angle(_ a: SIMD3<Double>, _ b: SIMD3<Double>) throws -> Double? {
            try measure(.angle(a, vertex: SIMD3(1, 1, 1), b), .voxel, on: image).angle
        }
        #expect(try angle(SIMD3(3, 1, 1), SIMD3(5, 1, 1)) == 0)
        #expect(try angle(SIMD3(3, 1, 1), SIMD3(-1, 1, 1)) == 180)
        #expect(try angle(SIMD3(3, 1, 1), SIMD3(1, 1, 3)) == 90)
        #expect(abs((try angle(SIMD3(3, 1, 1), SIMD3(3, 2, 1)) ?? 0) - 45) < 1e-12)
        let none = try measure(.angle(SIMD3(1, 1, 1), vertex: SIMD3(1, 1, 1), .zero), .voxel, on: image)
        #expect(none.status == .notMeasured && none.angle == nil && none.problem != nil)
    }

    @Test("Voxel centres on the border are inside")
    func border() throws {
        let image = try image(VolumeShape(x: 21, y: 21, z: 3), .scaling(SIMD3(0.1, 0.1, 1)))
        // The lattice points of a circle of radius 5: 81.
        let plane = RegionOfInterest.Plane.slice(across: .k, index: 1)
        let circle = try measure(.circle(center: SIMD3(10, 10, 1), radius: 0.5, plane), .voxel, on: image)
        #expect(circle.sampleCount == 81)
        #expect(abs((circle.sampledArea ?? 0) - 0.81) < 1e-12)
        let box = try measure(.box(lower: SIMD3(2, 3, 0), upper: SIMD3(5, 5, 1)), .voxel, on: image)
        #expect(box.sampleCount == 24 && abs((box.volume ?? 0) - 0.06) < 1e-12)
        #expect(box.intensity?.minimum == Double(2 + 3 * 21))
        #expect(box.intensity?.maximum == Double(5 + 5 * 21 + 441))
        let triangle = [SIMD3(0.0, 0, 1), SIMD3(4, 0, 1), SIMD3(0, 4, 1)]
        let polygon = try measure(.polygon(triangle, plane), .voxel, on: image)
        #expect(polygon.sampleCount == 15 && abs((polygon.area ?? 0) - 0.08) < 1e-12)
    }

    @Test("Left and right are told apart: the same point in LPS and RAS is two places")
    func spaces() throws {
        let image = try image(VolumeShape(x: 9, y: 9, z: 9), .scaling(SIMD3(1, 1, 1)))
        let sphere = RegionOfInterest.Shape.sphere(center: SIMD3(-2, -3, 4), radius: 0.4)
        let lps = try measure(sphere, .patientLps, on: image)
        #expect(lps.intensity?.mean == Double(2 + 3 * 9 + 4 * 81))
        let ras = try measure(sphere, .patientRas, on: image)
        #expect(ras.status == .outside && ras.sampleCount == 0 && ras.intensity == nil)
    }

    @Test("A plane through voxel centres, sampled at their spacing, gives the voxels")
    func obliqueOnGrid() throws {
        let image = try image(VolumeShape(x: 15, y: 15, z: 5), .scaling(SIMD3(1, 1, 3)))
        let center = SIMD3(7.0, 6, 6)
        let plane = RegionOfInterest.Plane.oblique(normal: SIMD3(0, 0, -2), point: nil, right: nil, spacing: 1)
        let sampled = try measure(.circle(center: center, radius: 4.2, plane), .patientRas, on: image)
        let onSlice = RegionOfInterest.Plane.slice(across: .axial, index: nil)
        let counted = try measure(.circle(center: center, radius: 4.2, onSlice), .patientRas, on: image)
        #expect(counted.sliceIndex == 2 && counted.sliceAxis == 2)
        #expect(sampled.sampleCount == counted.sampleCount && sampled.intensity == counted.intensity)
        #expect(sampled.sampledArea == counted.sampledArea && sampled.sampleSpacing == 1)
    }

    @Test("A linear image is met exactly between voxels, in every direction")
    func trilinear() throws {
        let shape = VolumeShape(x: 12, y: 11, z: 10)
        let affine = Affine(
            columnI: SIMD3(-0.6, 0.5, 0.1),
            columnJ: SIMD3(0.4, 0.7, -0.3),
            columnK: SIMD3(-0.5, -0.3, 1.8),
            translation: SIMD3(10, -7, 3)
        )
        let slope = SIMD3(3.0, -2, 1.25)
        let voxels = Voxel.all(of: shape).map {
            Float(dot(slope, affine(SIMD3(Double($0.i), Double($0.j), Double($0.k)))))
        }
        let image = Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: try FrozenVoxels(voxels))
        let center = affine(SIMD3(5.5, 5, 4.5))
        for normal in [SIMD3(1.0, 0, 0), SIMD3(0.3, -0.4, 0.8), SIMD3(-1, 1, 1)] {
            let plane = RegionOfInterest.Plane.oblique(normal: normal, point: nil, right: nil, spacing: 0.2)
            let found = try measure(.circle(center: center, radius: 1.5, plane), .patientRas, on: image)
            // Samples lie around the centre in pairs, so their mean is the centre's value.
            #expect(found.status == .complete)
            #expect(abs((found.intensity?.mean ?? .infinity) - dot(slope, center)) < 1e-4)
        }
    }

    @Test("A polygon that crosses itself has voxels but no area; too many samples are refused")
    func limits() throws {
        let image = try image(VolumeShape(x: 9, y: 9, z: 3), .identity)
        let plane = RegionOfInterest.Plane.slice(across: .k, index: 1)
        let bow = [SIMD3(0.0, 0, 1), SIMD3(6, 6.1, 1), SIMD3(6, 0, 1), SIMD3(0, 6, 1)]
        let found = try measure(.polygon(bow, plane), .voxel, on: image)
        #expect(found.area == nil && (found.sampleCount ?? 0) > 5)
        let fine = RegionOfInterest.Plane.oblique(normal: SIMD3(0, 0, 1), point: nil, right: nil, spacing: 0.001)
        let many = try measure(.circle(center: .zero, radius: 500, fine), .patientRas, on: image)
        #expect(many.status == .notMeasured && many.problem?.contains("samples") == true)
        let region = RegionOfInterest(
            name: "",
            space: .patientRas,
            shape: .sphere(center: SIMD3(4, 4, 1), radius: 1e6)
        )
        let plan = RegionMeasurement.predictedBytes(of: region, in: image.geometry, threads: 1)
        #expect(plan >= image.geometry.shape.count * 4 && plan < 16 << 20)
        let all = try RegionMeasurement.measure(region, on: image, scope: .serial())
        #expect(all.status == .cut && all.sampleCount == image.geometry.shape.count)
    }

    @Test("A raised flag stops a measurement")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let image = try image(VolumeShape(x: 9, y: 9, z: 3), .identity)
        let region = RegionOfInterest(name: "", space: .voxel, shape: .sphere(center: .zero, radius: 3))
        #expect(throws: CancelledError.self) {
            try RegionMeasurement.measure(region, on: image, scope: .serial(flag))
        }
    }
}
