import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturnePhotos
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes

/// A folder with a CT series of 20 × 18 × 24 voxels, and objects that belong to it.
struct LabelBench {
    let batch: BatchBench
    let shape = VolumeShape(x: 20, y: 18, z: 24)
    let slices: [DICOMSlice.Name]
    let geometry: VolumeGeometry

    /// The CT has ones in the box that ``BatchBench/addBox(_:shape:at:edge:affine:)`` draws.
    /// - Parameter window: what its slices state to be shown, as they write it.
    init(window: (center: String, width: String)? = nil, batch: BatchBench? = nil) throws {
        self.batch = try batch ?? BatchBench()
        var paths: [String] = []
        for k in 0..<shape.z {
            var pixels = [UInt16](repeating: 0, count: shape.sliceCount)
            for j in 4..<12 {
                for i in 4..<12 where (4..<12).contains(k) { pixels[j * shape.x + i] = 1 }
            }
            paths.append(try self.batch.folder.write(Self.slice(k, pixels, shape, window), to: "in/ct/\(k).dcm").path)
        }
        let scan = try DICOMScanner.scan(paths: paths, scope: .serial())
        guard let series = scan.series.first, let geometry = series.geometry else { throw Missing() }
        self.geometry = geometry
        slices = series.slices.map { DICOMSlice.Name(path: $0.object.path) }
    }

    struct Missing: Error {}

    static let colors = [
        LabelColor(red: 200, green: 30, blue: 60), LabelColor(red: 20, green: 130, blue: 60),
    ]
    static let code = CodedConcept(scheme: "SCT", value: "64033007", meaning: "Kidney")
    private let maker = DICOMObjectOrigin.Maker(software: "test", algorithm: "test", description: "Test")

    /// Boxes by their lower corners, values and edges.
    func labels(_ boxes: [(lower: Int, value: UInt16, edge: Int)]) throws -> LabelVolume {
        var voxels = try VoxelBuffer<UInt16>(count: shape.count)
        for box in boxes {
            for k in box.lower..<box.lower + box.edge {
                for j in box.lower..<box.lower + box.edge {
                    for i in box.lower..<box.lower + box.edge { voxels[shape.offset(i, j, k)] = box.value }
                }
            }
        }
        return LabelVolume(geometry: geometry, voxels: voxels.frozen())
    }

    func writeSegmentation(_ labels: LabelVolume, named names: [String], to path: String) throws {
        let segments = names.enumerated().map { index, name in
            DICOMSegmentation.LabelSegment(
                value: UInt16(index + 1),
                label: name,
                color: Self.colors[index],
                type: index == 0 ? Self.code : .uncoded(name)
            )
        }
        try DICOMSegmentation.write(
            labels,
            segments: segments,
            from: DICOMObjectOrigin(sources: slices, maker: maker, fingerprint: ContentDigest.of(path)),
            to: batch.folder(path).path,
            scope: .serial()
        )
    }

    /// One region for each volume: they may overlap.
    func writeStructureSet(_ regions: [(name: String, labels: LabelVolume)], to path: String) throws {
        let contoured = try regions.enumerated().map { index, region in
            DICOMStructureSet.ContouredRegion(
                name: region.name,
                color: Self.colors[index],
                code: index == 0 ? Self.code : nil,
                contours: try SliceContour.contours(of: [1], in: region.labels, scope: .serial())[0]
            )
        }
        _ = try DICOMStructureSet.write(
            contoured,
            geometry: geometry,
            from: DICOMObjectOrigin(sources: slices, maker: maker, fingerprint: ContentDigest.of(path)),
            to: batch.folder(path).path,
            flag: CancellationFlag()
        )
    }

    @discardableResult
    func run(_ options: ExistingLabelsOptions = ExistingLabelsOptions(), inputs: [String]? = nil) async throws
        -> BatchOutcome
    {
        let settings = try BatchOptions(
            options.recorded,
            inputs: inputs ?? [batch.input],
            output: batch.output
        )
        return try await settings.run([try ExistingLabels(options: options)])
    }

    func result(_ item: String) throws -> [String: Any] {
        let url = URL(fileURLWithPath: batch.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    func labels(_ item: String) throws -> [[String: Any]] { try result(item)["labels"] as? [[String: Any]] ?? [] }

    /// What the schema finds wrong.
    func faults(_ item: String) throws -> [String] {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/existing-result.schema.json")
        let url = URL(fileURLWithPath: batch.output.item(item) + "/result.json")
        return try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url))
    }

    // MARK: Slices

    static func slice(
        _ k: Int,
        _ pixels: [UInt16],
        _ shape: VolumeShape,
        _ window: (center: String, width: String)?
    ) -> [UInt8] {
        func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
            withUnsafeBytes(of: value.littleEndian) { Array($0) }
        }
        func element(_ tag: UInt32, _ vr: String, _ content: [UInt8]) -> [UInt8] {
            let value = content.count % 2 == 0 ? content : content + [vr == "UI" ? 0 : 32]
            let head = bytes(UInt16(tag >> 16)) + bytes(UInt16(tag & 0xFFFF)) + Array(vr.utf8)
            return head + (vr == "OW" ? [0, 0] + bytes(UInt32(value.count)) : bytes(UInt16(value.count))) + value
        }
        func text(_ tag: UInt32, _ vr: String, _ value: String) -> [UInt8] { element(tag, vr, Array(value.utf8)) }
        func short(_ tag: UInt32, _ value: Int) -> [UInt8] { element(tag, "US", bytes(UInt16(value))) }
        let syntax = text(0x0002_0010, "UI", "1.2.840.10008.1.2.1")
        var file = [UInt8](repeating: 0, count: 128) + Array("DICM".utf8)
        file += element(0x0002_0000, "UL", bytes(UInt32(syntax.count))) + syntax
        file += text(0x0008_0016, "UI", "1.2.840.10008.5.1.4.1.1.2") + text(0x0008_0018, "UI", "1.2.3.4.\(k + 1)")
        file += text(0x0008_0020, "DA", "20010203") + text(0x0008_0060, "CS", "CT")
        file += text(0x0010_0010, "PN", "Nobody^At All")
        file += text(0x0020_000D, "UI", "1.2.3") + text(0x0020_000E, "UI", "1.2.3.4")
        file += text(0x0020_0011, "IS", "4") + text(0x0020_0013, "IS", "\(k + 1)")
        file += text(0x0020_0032, "DS", "-10\\20\\\(30 + k)") + text(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0")
        file += text(0x0020_0052, "UI", "1.2.99")
        file += short(0x0028_0002, 1) + text(0x0028_0004, "CS", "MONOCHROME2")
        file += short(0x0028_0010, shape.y) + short(0x0028_0011, shape.x) + text(0x0028_0030, "DS", "1\\1")
        file += short(0x0028_0100, 16) + short(0x0028_0101, 16) + short(0x0028_0102, 15) + short(0x0028_0103, 0)
        if let window {
            file += text(0x0028_1050, "DS", window.center) + text(0x0028_1051, "DS", window.width)
        }
        return file + element(0x7FE0_0010, "OW", pixels.flatMap { bytes($0) })
    }
}
