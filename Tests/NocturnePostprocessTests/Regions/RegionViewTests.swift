import NocturneCore
import NocturnePostprocess
import NocturneTestSupport
import Testing

@Suite("Views of regions of interest")
struct RegionViewTests {
    private static let shape = VolumeShape(x: 40, y: 30, z: 20)
    /// Stored as LPS is, with the first slice at the head.
    private let geometry = VolumeGeometry(
        shape: shape,
        affine: Affine(
            columnI: SIMD3(-1, 0, 0),
            columnJ: SIMD3(0, -1, 0),
            columnK: SIMD3(0, 0, -3),
            translation: SIMD3(30, 20, 25)
        )
    )

    private func view(_ shape: RegionOfInterest.Shape) throws -> RegionView {
        let region = RegionOfInterest(name: "x", space: .patientRas, shape: shape)
        return try #require(RegionView(of: region, in: geometry))
    }

    private func isClose(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Bool { length(a - b) < 1e-9 }

    @Test(
        "Planes are drawn by the radiological convention, however the grid is stored",
        arguments: [
            (RegionOfInterest.Axis.axial, SIMD3<Double>(-1, 0, 0), SIMD3<Double>(0, -1, 0), "axial slice k = 8"),
            (.coronal, SIMD3(-1, 0, 0), SIMD3(0, 0, -1), "coronal slice j = 16"),
            (.sagittal, SIMD3(0, -1, 0), SIMD3(0, 0, -1), "sagittal slice i = 20"),
        ]
    )
    func directions(
        axis: RegionOfInterest.Axis,
        right: SIMD3<Double>,
        down: SIMD3<Double>,
        plane: String
    ) throws {
        let center = SIMD3(10.0, 4, 1)
        let view = try view(.circle(center: center, radius: 5, .slice(across: axis, index: nil)))
        #expect(isClose(view.right, right) && isClose(view.down, down))
        #expect(view.plane == plane && isClose(view.center, center) && abs(view.extent - 10) < 1e-9)
        #expect(view.contains(center + right * 4.9) && view.contains(center - down * 4.9))
        #expect(!view.contains(center + right * 5.1) && !view.contains(center + (right + down) * 3.6))
        #expect(view.line.isEmpty)
    }

    @Test("A line is seen in the plane in which it is longest")
    func lines() throws {
        let long = try view(.length([SIMD3(0, 0, 0), SIMD3(10, 2, 40)]))
        #expect(long.plane == "coronal plane" && abs(long.extent - 40) < 1e-9)
        #expect(isClose(long.center - SIMD3(0, long.center.y, 0), SIMD3(5, 0, 20)))
        #expect(long.line == [SIMD3(0, 0, 0), SIMD3(10, 2, 40)] && !long.contains(SIMD3(5, 1, 20)))
        let flat = try view(.angle(SIMD3(1, 0, 0), vertex: .zero, SIMD3(0, 1, 0)))
        #expect(flat.plane == "axial plane" && flat.line.count == 3)
        let front = try view(.length([SIMD3(0, 0, 0), SIMD3(0, 10, 10)]))
        #expect(front.plane == "sagittal plane")
    }

    @Test("Bodies and slanted planes: middle, extent and what is inside")
    func bodies() throws {
        let sphere = try view(.sphere(center: SIMD3(3, 4, 5), radius: 6))
        #expect(sphere.plane == "axial plane" && sphere.extent == 12 && sphere.contains(SIMD3(3, 9.9, 5)))
        let box = try view(.box(lower: SIMD3(0, 2, 3), upper: SIMD3(10, 6, 23)))
        #expect(isClose(box.center, SIMD3(5, 4, 13)) && box.extent == 10)
        #expect(box.contains(SIMD3(0.1, 5.9, 13)) && !box.contains(SIMD3(-0.1, 5, 13)))
        let plane = RegionOfInterest.Plane.oblique(normal: SIMD3(0, 0.3, 1), point: nil, right: nil, spacing: 1)
        let slanted = try view(.rectangle(center: SIMD3(5, 4, 3), size: SIMD2(20, 10), rotation: 0, plane))
        #expect(slanted.plane == "oblique plane" && abs(slanted.extent - 20) < 1e-9)
        #expect(isClose(slanted.right, SIMD3(-1, 0, 0)) && slanted.down.y < 0)
        #expect(abs(dot(slanted.down, SIMD3(0, 0.3, 1))) < 1e-9)
        #expect(slanted.contains(SIMD3(5, 4, 3) + slanted.right * 9.9 + slanted.down * 4.9))
        #expect(!slanted.contains(SIMD3(5, 4, 3) + slanted.down * 5.1))
    }

    @Test("A region that cannot be placed has no view")
    func unplaceable() {
        let polygon = RegionOfInterest.Shape.polygon([.zero, SIMD3(1, 0, 0)], .slice(across: .axial, index: nil))
        #expect(RegionView(of: RegionOfInterest(name: "x", space: .voxel, shape: polygon), in: geometry) == nil)
    }
}
