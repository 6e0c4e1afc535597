import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("nocturne radiomics")
struct RadiomicsCommandTests {
    /// The standard's digital phantom as two files, and settings without processing.
    private func phantom(
        spacing: Double = 2,
        isMasked: Bool = true
    ) throws -> (folder: TemporaryFolder, arguments: [String]) {
        let folder = try TemporaryFolder()
        try FileSystem.makeFolder(folder("in").path)
        let text = String(decoding: try Fixtures.bytes("IBSI/digital-phantom.txt"), as: UTF8.self)
        let words = text.split { $0 == " " || $0 == "\n" }
        let levels = words.compactMap { Float($0.split(separator: "-")[0]) }
        let mask = words.map { UInt16($0.hasSuffix("-") || !isMasked ? 0 : 1) }
        let shape = VolumeShape(x: 5, y: 4, z: 4)
        func geometry(_ spacing: Double) -> VolumeGeometry {
            VolumeGeometry(shape: shape, affine: .scaling(SIMD3(spacing, spacing, spacing)))
        }
        try NIfTIWriter.writeVolume(
            Volume(geometry: geometry(2), voxels: try FrozenVoxels(levels)),
            as: .float32,
            to: folder("in/phantom.nii").path,
            scope: .serial()
        )
        try NIfTIWriter.writeLabels(
            LabelVolume(geometry: geometry(spacing), voxels: try FrozenVoxels(mask)),
            names: [],
            forms: nil,
            to: folder("in/phantom_seg.nii.gz").path,
            scope: .serial()
        )
        try folder.write("{\"discretisation\": {\"method\": \"none\"}}", to: "radiomics.json")
        let arguments = ["radiomics", folder("in/phantom.nii").path, folder("in/phantom_seg.nii.gz").path]
        return (folder, arguments + ["--settings", folder("radiomics.json").path])
    }

    @Test("prints the standard's values, which fit the schema")
    func values() throws {
        let (folder, arguments) = try phantom()
        let found = try Tool(arguments + ["--json"])
        #expect(found.status == 0, "\(found.errors)")
        let schema = try JSONSchema(
            Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/radiomics.schema.json"))
        )
        #expect(try schema.faults(in: Array(found.output.utf8)) == [])
        let document = try JSONSerialization.jsonObject(with: Data(found.output.utf8)) as? [String: Any]
        let regions = try #require(document?["regions"] as? [[String: Any]])
        let features = try #require(regions.first?["features"] as? [[String: Any]])
        let values = Dictionary(
            uniqueKeysWithValues: features.map { ($0["name"] as? String ?? "", $0["value"] as? Double) }
        )
        #expect(isClose((values["morph_volume"] ?? nil) ?? 0, 556.3, absolute: 0.1))
        #expect(isClose((values["cm_contrast_3D_avg"] ?? nil) ?? 0, 5.32, absolute: 0.01))
        let text = try Tool(arguments)
        #expect(text.status == 0 && text.output.contains("label 1: 74 voxels, 74 after re-segmentation"))
        _ = folder
    }

    @Test("has the values of a batch, whose other tables have no features and which verifies")
    func batch() throws {
        let (folder, arguments) = try phantom()
        struct Report: Decodable {
            struct Region: Decodable {
                struct Feature: Decodable, Equatable {
                    let code: String
                    let value: Double?
                    let absence: String?
                }

                let features: [Feature]
            }

            let settingsDigest: String
            let regions: [Region]
        }
        struct Result: Decodable { let radiomics: Report }
        let alone = try JSONDecoder().decode(Report.self, from: Data(try Tool(arguments + ["--json"]).output.utf8))
        let (output, settings) = (folder("out").path, folder("radiomics.json").path)
        let run = try Tool(["run", folder("in").path, "--existing-labels", "--output", output, "--radiomics", settings])
        #expect(run.status == 0, "\(run.errors)")
        let item = try #require(FileSystem.entries(output).first { $0.hasPrefix("phantom") })
        let result = try JSONDecoder().decode(Result.self, from: Data(FileSystem.read(output + "/\(item)/result.json")))
        #expect(result.radiomics.regions.map(\.features) == alone.regions.map(\.features))

        func table(_ name: String) throws -> [[Substring]] {
            String(decoding: try FileSystem.read(output + "/" + name), as: UTF8.self).split(separator: "\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false)
            }
        }
        let rows = try table("radiomics.csv")
        #expect(rows.count == 2 && rows[0].count == rows[1].count, "\(rows)")
        let row = Dictionary(zip(rows[0], rows[1])) { first, _ in first }
        #expect(row["image"] == "item" && row["voxels"] == "74" && row["settings"]?[...] == alone.settingsDigest[...])
        #expect(isClose(row["RNU0"].flatMap { Double($0) } ?? 0, 556.3, absolute: 0.1))
        let features = try #require(alone.regions.first?.features)
        #expect(features.allSatisfy { row[$0.code[...]].map { Double($0) } == $0.value })
        #expect(rows[0].count == 6 + 2 + features.count + 1)
        for name in ["statistics.csv", "measurements.csv"] {
            #expect(try !table(name).contains { $0.contains { $0.contains("radiomics") } }, "\(name)")
        }
        let verified = try Tool(["verify", output])
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test("a mask without a label is nothing to measure, and named")
    func emptyMask() throws {
        let (folder, arguments) = try phantom(isMasked: false)
        let tool = try Tool(arguments)
        #expect(tool.status == 4 && tool.output.isEmpty)
        #expect(tool.errors.contains("phantom_seg.nii.gz: no voxel has a label"), "\(tool.errors)")
        _ = folder
    }

    @Test("an unknown setting, another grid and a missing file are usage errors that name the file")
    func faults() throws {
        let (folder, arguments) = try phantom(spacing: 3)
        let grid = try Tool(arguments)
        #expect(grid.status == 2 && grid.errors.contains("its grid is not that of the image"), "\(grid.errors)")
        // A preamble and the beginning of an element.
        let preamble = [UInt8](repeating: 0, count: 128) + Array("DICM".utf8)
        try folder.write(preamble + [2, 0, 0x10, 0, 0x55, 0x49, 0xFF, 0xFF], to: "cut.dcm")
        let cut = try Tool(["radiomics", folder("in/phantom.nii").path, folder("cut.dcm").path])
        #expect(cut.status == 2 && cut.errors.contains("cut.dcm: I/O suspension or premature end"), "\(cut.errors)")
        try folder.write("{\"binWidth\": 25}", to: "radiomics.json")
        let unknown = try Tool(arguments)
        #expect(
            unknown.status == 2 && unknown.errors.contains("binWidth is unknown; known keys are preset"),
            "\(unknown.errors)"
        )
        let missing = try Tool(["radiomics", folder("none.nii").path, folder("in/phantom_seg.nii.gz").path])
        #expect(missing.status == 2 && missing.errors.contains("there is no file or folder"), "\(missing.errors)")
    }
}
