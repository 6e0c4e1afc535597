import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes

/// A folder with volumes whose isosurfaces are known, and runs over it.
struct IsosurfaceBench {
    let batch: BatchBench

    init() throws { self.init(batch: try BatchBench()) }

    init(batch: BatchBench) { self.batch = batch }

    /// Left to right 0.8 mm, back to front 1 mm, feet to head 1.5 mm, turned by 90° and not at the origin.
    static let affine = Affine(
        columnI: SIMD3(0, 0.8, 0),
        columnJ: SIMD3(-1, 0, 0),
        columnK: SIMD3(0, 0, 1.5),
        translation: SIMD3(40, -100, 600)
    )

    /// For renderings, which take long for larger grids. The outermost voxels are 6 mm or more from its middle.
    static let small = VolumeShape(x: 16, y: 14, z: 10)

    /// Writes a volume as float32. The value gets the position in mm relative to the middle of the grid.
    func add(
        _ name: String,
        shape: VolumeShape = VolumeShape(x: 48, y: 40, z: 30),
        affine: Affine = Self.affine,
        _ value: (SIMD3<Double>) -> Float
    ) throws {
        let middle = affine(SIMD3(Double(shape.x - 1), Double(shape.y - 1), Double(shape.z - 1)) / 2)
        let voxels: VoxelBuffer<Float> = try Phantom.voxels(shape) { i, j, k in
            value(affine(SIMD3(Double(i), Double(j), Double(k))) - middle)
        }
        let volume = Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
        try NIfTIWriter.writeVolume(
            volume,
            as: .float32,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: batch.folder("in/" + name).path,
            scope: .serial()
        )
    }

    /// 500 in the middle, 10 less with every mm.
    func addBall(_ name: String = "ball.nii", shape: VolumeShape = VolumeShape(x: 48, y: 40, z: 30)) throws {
        try add(name, shape: shape) { Float(500 - 10 * length($0)) }
    }

    @discardableResult
    func run(
        _ options: IsosurfaceOptions,
        output: OutputFolder? = nil,
        threads: Int = 2
    ) async throws -> BatchOutcome {
        let settings = try BatchOptions(
            options.recorded,
            inputs: [batch.input],
            output: output ?? batch.output,
            threads: threads
        )
        return try await settings.run([Isosurfaces(options: options)])
    }

    func result(_ item: String) throws -> [String: Any] {
        let url = URL(fileURLWithPath: batch.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    func surfaces(_ item: String) throws -> [[String: Any]] {
        try result(item)["surfaces"] as? [[String: Any]] ?? []
    }

    /// What the schema finds wrong.
    func faults(_ item: String) throws -> [String] {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/isosurface-result.schema.json")
        let url = URL(fileURLWithPath: batch.output.item(item) + "/result.json")
        return try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url))
    }

    func discovered(_ options: IsosurfaceOptions) throws -> (items: [DiscoveredItem], notes: [String]) {
        try Isosurfaces(options: options).search(DiscoveryRequest(inputs: [batch.input]))
    }
}
