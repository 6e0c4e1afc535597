import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

/// On public structure sets; without the shared data nothing is checked.
@Suite("Surfaces of real regions")
struct SharedContourTests {
    static let files = [
        "rtstruct/sts002/CT/RS.dcm", "rtstruct/sts002/MR_T1/RS.dcm", "rtstruct/sts002/PET/RS.dcm",
        "rtstruct/ct-phantom-2slices/invalid_reference_rt.dcm",
        "rtstruct/ct-phantom-2slices/non_existent_reference_rt.dcm",
    ]

    /// The voxels of 1 mm whose middles are inside an odd number of contours, one slice for each plane.
    private func labels(_ contours: [[SIMD3<Double>]]) throws -> LabelVolume? {
        guard let planes = ContourPlanes(of: contours), let step = planes.step else { return nil }
        let places = contours.map { $0.map(planes.coordinates) }
        let used = planes.planes.flatMap { $0.contours.flatMap { places[$0] } }
        let lower = used.reduce(used[0]) { pointwiseMin($0, $1) }
        let upper = used.reduce(used[0]) { pointwiseMax($0, $1) }
        let first = planes.planes[0].height
        let slices = Int(((planes.planes[planes.planes.count - 1].height - first) / step).rounded()) + 1
        let shape = VolumeShape(x: Int(upper.x - lower.x) + 2, y: Int(upper.y - lower.y) + 2, z: slices)
        var voxels = [UInt16](repeating: 0, count: shape.count)
        for plane in planes.planes {
            let k = Int(((plane.height - first) / step).rounded())
            for contour in plane.contours {
                let corners = places[contour]
                for (a, b) in zip(corners, corners.dropFirst() + [corners[0]]) where a.y != b.y {
                    for j in 0..<shape.y {
                        let y = lower.y + Double(j) + 0.5
                        guard (a.y <= y) != (b.y <= y) else { continue }
                        let x = a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x) - lower.x
                        for i in 0..<shape.x where Double(i) + 0.5 < x { voxels[shape.offset(i, j, k)] ^= 1 }
                    }
                }
            }
        }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(1, 1, step)))
        return LabelVolume(geometry: geometry, voxels: try FrozenVoxels(voxels))
    }

    @Test("closed, with area and volume of the label map's surface", arguments: files)
    func regions(file: String) throws {
        guard let url = SharedData.url(file) else { return }
        for region in try DICOMStructureSet.read(path: url.path).regions {
            let contours = region.contours.map(\.points)
            guard let labels = try labels(contours) else { continue }
            let made = MeshFacts(of: try ContourExtruder.surface(of: contours, scope: .serial()).mesh)
            let expected = MeshFacts(of: try SurfaceExtractor.surface(of: 1, in: labels, scope: .serial()))
            guard expected.signedVolume > 0 else { continue }
            let (area, volume) = (made.area / expected.area, made.signedVolume / expected.signedVolume)
            print("notice: \(file) \(region.name): \(made.triangleCount) triangles, area \(area), volume \(volume)")
            #expect(made.isClosedManifold, "\(region.name)")
            #expect(abs(area - 1) < 0.1 && abs(volume - 1) < 0.05, "\(region.name): area \(area), volume \(volume)")
        }
    }
}
