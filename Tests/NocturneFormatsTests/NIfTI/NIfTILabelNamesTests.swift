import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneTestSupport
import Testing

@Suite("Labels in the header of a label map")
struct NIfTILabelNamesTests {
    @Test("Names and colours are read as they were written")
    func roundTrip() throws {
        let names = ["kidney_right", "A & B <c>", "end ]]> of CDATA", "Leber, links", "数"]
        let labels = names.enumerated().map {
            NIfTIWriter.Label(
                value: UInt16($0.offset * 3 + 1),
                name: $0.element,
                color: LabelColor(red: 1, green: UInt8($0.offset), blue: 255)
            )
        }
        let geometry = VolumeGeometry(shape: VolumeShape(x: 2, y: 2, z: 2), affine: .identity)
        let map = LabelVolume(geometry: geometry, voxels: try FrozenVoxels([UInt16](repeating: 1, count: 8)))
        try TemporaryFolder.with { folder in
            let path = folder("a.nii.gz").path
            try NIfTIWriter.writeLabels(map, names: labels, forms: nil, to: path, scope: .serial())
            let header = try VolumeFileReader.readHeader(at: path)
            #expect(header.labelNames == Dictionary(uniqueKeysWithValues: labels.map { ($0.value, $0.name) }))
            #expect(labels.allSatisfy { header.labels[$0.value]?.color == $0.color })
        }
    }

    @Test(
        "Other programs' tables are read, and what is no table gives no names",
        arguments: [
            (
                // As TotalSegmentator writes it: one line, no CDATA.
                #"<CaretExtension><LabelTable><Label Key="2" Red="1" Green="0" Blue="0" Alpha="1">spleen</Label>"#
                    + #"<Label Key="3" Red="1" Green="0" Blue="0" Alpha="1"> a &amp; b </Label></LabelTable>"#,
                [2: "spleen", 3: "a & b"]
            ),
            (#"<Label Key="0">background</Label><Label Key="1">???</Label><Label Key="x">y</Label>"#, [:]),
            (#"<Label Key="70000">far</Label><Label Key="5"/><Label Key="6">six</Label>"#, [6: "six"]),
            (#"<Label Key="1">open"#, [:]), ("<Label Key=", [:]), ("no table", [:]), ("", [:]),
            (#"<Label Key="1"><![CDATA[open</Label><Label Key="2">b</Label>"#, [1: "open", 2: "b"]),
        ] as [(String, [UInt16: String])]
    )
    func tables(text: String, expected: [UInt16: String]) throws {
        let geometry = VolumeGeometry(shape: VolumeShape(x: 2, y: 2, z: 2), affine: .identity)
        let map = LabelVolume(geometry: geometry, voxels: try FrozenVoxels([UInt16](repeating: 1, count: 8)))
        try TemporaryFolder.with { folder in
            // The writer's own table is replaced by the text, padded to the same length.
            let path = folder("a.nii").path
            let label = NIfTIWriter.Label(
                value: 1,
                name: String(repeating: "n", count: 1000),
                color: LabelColor(red: 0, green: 0, blue: 0)
            )
            try NIfTIWriter.writeLabels(map, names: [label], forms: nil, to: path, scope: .serial())
            var bytes = [UInt8](try Data(contentsOf: folder("a.nii")))
            let start = 352 + 8
            let end = bytes.count - 8
            bytes.replaceSubrange(
                start..<end,
                with: Array(text.utf8) + Array(repeating: 32, count: end - start - text.utf8.count)
            )
            // With the code of such tables; with none, as TotalSegmentator writes it; and as a comment.
            for (code, names) in [(30, expected), (0, expected), (6, [:])] {
                bytes[356] = UInt8(code)
                try folder.write(bytes, to: "b.nii")
                #expect(try VolumeFileReader.readHeader(at: folder("b.nii").path).labelNames == names)
            }
        }
    }
}
