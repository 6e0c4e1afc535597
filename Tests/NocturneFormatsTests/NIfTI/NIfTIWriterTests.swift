import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Writing NIfTI")
struct NIfTIWriterTests {
    static let affine = Affine(rows: [[-0.5, 0, 0, 10], [0, 0.75, 0, -20], [0, 0, 2, 30]])

    static func labels(_ shape: VolumeShape, largest: UInt64) throws -> LabelVolume {
        var generator = SplitMix64(seed: 5)
        var value: UInt16 = 0
        let voxels = try Phantom.voxels(shape) { i, _, _ -> UInt16 in
            // Runs, as label maps have them.
            if i % 7 == 0 { value = UInt16(generator.next() % (largest + 1)) }
            return value
        }
        return LabelVolume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
    }

    @Test("Label maps come back, as uint8 when they fit", arguments: [1, 255, 256, 65535], [".nii", ".nii.gz"])
    func roundTrip(largest: UInt64, ending: String) throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 31, y: 23, z: 300), largest: largest)
            let path = folder("a" + ending).path
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(qformCode: 2, sformCode: 4),
                to: path,
                scope: .serial()
            )
            let (header, read) = try VolumeFileReader.readLabels(at: path, scope: .serial())
            #expect(read.voxels.array() == labels.voxels.array())
            #expect(header.geometry == labels.geometry)
            #expect(header.dataType == (largest <= 255 ? .uint8 : .uint16))
            #expect((header.qformCode, header.sformCode) == (2, 4))
            #expect(header.qform == header.sform)
            #expect((header.intentCode, header.unitsCode, header.version) == (1002, 2, .nifti1))
            #expect((header.scalingSlope, header.scalingIntercept) == (1, 0))
        }
    }

    @Test("A name above 255 asks for uint16, even when no voxel has it")
    func typeByName() throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 4, y: 4, z: 4), largest: 3)
            let names = [NIfTIWriter.Label(value: 300, name: "rib", color: LabelColor(red: 1, green: 2, blue: 3))]
            let path = folder("a.nii").path
            try NIfTIWriter.writeLabels(labels, names: names, forms: nil, to: path, scope: .serial())
            #expect(try VolumeFileReader.readHeader(at: path).dataType == .uint16)
        }
    }

    @Test("No codes, and two zeros, become 1 and 1")
    func defaultCodes() throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 4, y: 4, z: 4), largest: 3)
            let path = folder("a.nii").path
            try NIfTIWriter.writeLabels(labels, names: [], forms: nil, to: path, scope: .serial())
            var header = try VolumeFileReader.readHeader(at: path)
            #expect((header.qformCode, header.sformCode) == (1, 1))

            let plain = VolumeGeometry(shape: labels.geometry.shape, affine: .scaling(SIMD3(1, 2, 3)))
            let moved = VolumeGeometry(
                shape: plain.shape,
                affine: Affine(
                    columnI: SIMD3(1, 0, 0),
                    columnJ: SIMD3(0, 2, 0),
                    columnK: SIMD3(0, 0, 3),
                    translation: SIMD3(5, 0, 0)
                )
            )
            for geometry in [plain, moved] {
                let labels = LabelVolume(geometry: geometry, voxels: labels.voxels)
                try NIfTIWriter.writeLabels(
                    labels,
                    names: [],
                    forms: NIfTIForms(qformCode: 0, sformCode: 0),
                    to: path,
                    scope: .serial()
                )
                header = try VolumeFileReader.readHeader(at: path)
                #expect((header.qformCode, header.sformCode) == (1, 1))
                #expect(header.geometry.matches(geometry))
            }
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(qformCode: 0, sformCode: 2),
                to: path,
                scope: .serial()
            )
            header = try VolumeFileReader.readHeader(at: path)
            #expect((header.qformCode, header.sformCode) == (0, 2))
        }
    }

    @Test("Names and colours go into a Workbench label table that XML readers can read")
    func labelTable() throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 4, y: 4, z: 4), largest: 2)
            let names = [
                NIfTIWriter.Label(
                    value: 2,
                    name: "a ]]> b & <c> \u{7}ü",
                    color: LabelColor(red: 255, green: 0, blue: 128)
                ),
                NIfTIWriter.Label(value: 1, name: "liver", color: LabelColor(red: 1, green: 254, blue: 127)),
            ]
            let path = folder("a.nii.gz").path
            try NIfTIWriter.writeLabels(labels, names: names, forms: nil, to: path, scope: .serial())
            let header = try VolumeFileReader.readHeader(at: path)
            let block = try #require(header.extensions.first)
            #expect(header.extensions.count == 1 && block.code == 30)
            #expect((block.bytes.count + 8) % 16 == 0)
            let text = String(decoding: block.bytes.prefix { $0 != 0 }, as: UTF8.self)
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("<Label ") }
            #expect(
                lines == [
                    #"<Label Key="0" Red="0" Green="0" Blue="0" Alpha="0"><![CDATA[???]]></Label>"#,
                    #"<Label Key="1" Red="0.004" Green="0.996" Blue="0.498" Alpha="1"><![CDATA[liver]]></Label>"#,
                    #"<Label Key="2" Red="1.000" Green="0.000" Blue="0.502" Alpha="1">"#
                        + "<![CDATA[a ]]]]><![CDATA[> b & <c>  ü]]></Label>",
                ]
            )
            #expect(text.hasPrefix(#"<?xml version="1.0" encoding="UTF-8"?>"#))
            #expect(text.contains("<VolumeType><![CDATA[Label]]></VolumeType>"))
        }
    }

    @Test("The bytes are the same for any number of threads, over several waves of chunks")
    func deterministic() async throws {
        let folder = try TemporaryFolder()
        // 18 chunks, more than are compressed at once, the last one short.
        let labels = try Self.labels(VolumeShape(x: 300, y: 300, z: 101), largest: 900)
        let files = try await resultsForWidths { scope in
            let path = folder("w\(scope.width).nii.gz").path
            try NIfTIWriter.writeLabels(labels, names: [], forms: nil, to: path, scope: scope)
            return try Data(contentsOf: folder("w\(scope.width).nii.gz"))
        }
        #expect(Set(files).count == 1)
        #expect(Array(try #require(files.first)[..<10]) == [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
        let read = try VolumeFileReader.readLabels(at: folder("w2.nii.gz").path, scope: .serial())
        #expect(read.labels.voxels.array() == labels.voxels.array())
        withExtendedLifetime(folder) {}
    }

    @Test("Whether to compress can be said where a temporary name does not")
    func explicitCompression() throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 40, y: 40, z: 40), largest: 3)
            for compressed in [true, false] {
                let url = folder("a.part")
                try NIfTIWriter.writeLabels(
                    labels,
                    names: [],
                    forms: nil,
                    to: url.path,
                    compressed: compressed,
                    scope: .serial()
                )
                #expect(try Data(contentsOf: url).starts(with: [0x1f, 0x8b]) == compressed)
                #expect(
                    try VolumeFileReader.readLabels(at: url.path, scope: .serial()).labels.voxels.array()
                        == labels.voxels.array()
                )
            }
        }
    }

    @Test(
        "A grid that leans slightly has a q-form with right angles too, which ITK needs",
        arguments: [0.0002, 0.0004, 0.0017, 0.01]
    )
    func slightLean(lean: Double) throws {
        try TemporaryFolder.with { folder in
            let plain = try Self.labels(VolumeShape(x: 64, y: 64, z: 20), largest: 3)
            let affine = Affine(
                columnI: SIMD3(-3.4, 0, 0),
                columnJ: SIMD3(0, -3.4, 0),
                columnK: SIMD3(0, 7 * lean, 7),
                translation: SIMD3(110, 78, -72)
            )
            let labels = LabelVolume(
                geometry: VolumeGeometry(shape: plain.geometry.shape, affine: affine),
                voxels: plain.voxels
            )
            let path = folder("a.nii").path
            try NIfTIWriter.writeLabels(labels, names: [], forms: nil, to: path, scope: .serial())
            let header = try VolumeFileReader.readHeader(at: path)
            #expect(header.geometry.matches(labels.geometry, tolerance: 1e-4) && header.sformCode == 1)
            guard lean < 0.0018 else {
                #expect(header.qformCode == 0)
                return
            }
            let form = try #require(header.qform)
            #expect(header.qformCode == 1)
            #expect(abs(dot(form.columnJ, form.columnK)) < 1e-5 * 3.4 * 7)
            #expect(abs(dot(form.columnI, form.columnK)) < 1e-5 * 3.4 * 7)
            let allowed = 20 * 7 * lean + 1e-3
            #expect(
                VolumeGeometry(shape: labels.geometry.shape, affine: form).matches(labels.geometry, tolerance: allowed)
            )
        }
    }

    @Test("A size above 32,767 is written as NIfTI-2", arguments: [".nii", ".nii.gz"])
    func longAxis(ending: String) throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 2, y: 40000, z: 3), largest: 3)
            let path = folder("a" + ending).path
            let names = [NIfTIWriter.Label(value: 1, name: "one", color: LabelColor(red: 1, green: 2, blue: 3))]
            try NIfTIWriter.writeLabels(
                labels,
                names: names,
                forms: NIfTIForms(qformCode: 1, sformCode: 1),
                to: path,
                scope: .serial()
            )
            let (header, read) = try VolumeFileReader.readLabels(at: path, scope: .serial())
            #expect(header.version == .nifti2)
            #expect((header.intentCode, header.unitsCode, header.extensions.count) == (1002, 2, 1))
            #expect(header.geometry == labels.geometry)
            #expect(read.voxels.array() == labels.voxels.array())
        }
    }

    @Test(
        "Images come back: float32 bit for bit, int16 rounded to even and held in range",
        arguments: [".nii", ".nii.gz"]
    )
    func images(ending: String) throws {
        try TemporaryFolder.with { folder in
            let shape = VolumeShape(x: 60, y: 70, z: 80)
            let geometry = VolumeGeometry(shape: shape, affine: Self.affine)
            var voxels = try Phantom.noise(shape, seed: 3, in: -2000..<3000)
            let special: [Float] = [0.5, 1.5, -0.5, 1e9, -.infinity, .nan]
            for (index, value) in special.enumerated() { voxels[index] = value }
            let volume = Volume(geometry: geometry, voxels: voxels.frozen())
            let path = folder("a" + ending).path
            try NIfTIWriter.writeVolume(volume, as: .float32, to: path, scope: .serial())
            let floats = try VolumeFileReader.readVolume(at: path, scope: .serial())
            #expect(floats.volume.voxels.array().map(\.bitPattern) == volume.voxels.array().map(\.bitPattern))
            #expect(floats.header.intentCode == 0 && floats.header.geometry == geometry)
            try NIfTIWriter.writeVolume(volume, as: .int16, to: path, scope: .serial())
            let integers = try VolumeFileReader.readVolume(at: path, scope: .serial()).volume.voxels.array()
            #expect(integers.prefix(6) == [0, 2, 0, 32767, -32768, 0])
            #expect(
                integers.dropFirst(6) == volume.voxels.array().dropFirst(6).map { $0.rounded(.toNearestOrEven) }[...]
            )
            #expect(
                niftiFault { try NIfTIWriter.writeVolume(volume, as: .uint64, to: path, scope: .serial()) }?.code
                    == .unsupportedDataType
            )
        }
    }

    @Test("A full disk, a missing folder and a bad affine are told", arguments: [true, false])
    func faults(compressed: Bool) throws {
        try TemporaryFolder.with { folder in
            let labels = try Self.labels(VolumeShape(x: 40, y: 40, z: 40), largest: 3)
            func fault(_ labels: LabelVolume, _ path: String) -> VolumeFileError? {
                niftiFault {
                    try NIfTIWriter.writeLabels(
                        labels,
                        names: [],
                        forms: nil,
                        to: path,
                        compressed: compressed,
                        scope: .serial()
                    )
                }
            }
            let full = fault(labels, "/dev/full")
            #expect(full?.code == .cannotWrite)
            #expect(full?.description == "/dev/full: cannot be written: No space left on device (errno 28)")
            #expect(fault(labels, folder("none/a.nii").path)?.detail.contains("errno 2") == true)
            var flat = labels.geometry
            flat.affine.columnK = .zero
            let squashed = LabelVolume(geometry: flat, voxels: labels.voxels)
            #expect(fault(squashed, folder("a.nii").path)?.code == .invalidAffine)
            let flag = CancellationFlag()
            flag.cancel()
            #expect(throws: CancelledError.self) {
                try NIfTIWriter.writeLabels(
                    labels,
                    names: [],
                    forms: nil,
                    to: folder("b.nii").path,
                    compressed: compressed,
                    scope: .serial(flag)
                )
            }
        }
    }
}
