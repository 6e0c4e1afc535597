import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// NRRD and MetaImage files put together by hand, with 5 × 4 × 3 voxels.
struct HandmadeVolume {
    var format = VolumeFileFormat.nrrd
    var type = StoredVoxelType.int16
    var byteOrder = VolumeFileHeader.ByteOrder.little
    var isCompressed = false
    /// The file of the voxels; nil for the file itself.
    var dataFile: String?
    /// Lines in place of those with the same name, or further ones; empty to leave a line out.
    var changes: [(name: String, line: String)] = []

    static let voxelCount = 60

    private static let nrrdTypes: [StoredVoxelType: String] = [
        .uint8: "uchar", .int8: "int8", .uint16: "unsigned short", .int16: "short", .uint32: "uint32_t",
        .int32: "signed int", .uint64: "unsigned long long int", .int64: "longlong", .float32: "float",
        .float64: "double",
    ]
    private static let metaTypes: [StoredVoxelType: String] = [
        .uint8: "UCHAR", .int8: "CHAR", .uint16: "USHORT", .int16: "SHORT", .uint32: "UINT", .int32: "INT",
        .uint64: "ULONG_LONG", .int64: "LONG_LONG", .float32: "FLOAT", .float64: "DOUBLE",
    ]

    private var lines: [(name: String, line: String)] {
        switch format {
        case .metaImage:
            [
                ("ObjectType", "ObjectType = Image"), ("NDims", "NDims = 3"), ("BinaryData", "BinaryData = True"),
                ("Order", "BinaryDataByteOrderMSB = \(byteOrder == .big ? "True" : "False")"),
                ("Compressed", "CompressedData = \(isCompressed ? "True" : "False")"),
                ("Matrix", "TransformMatrix = 0 1 0 1 0 0 0 0 -1"), ("Offset", "Offset = 1 -2 3.5"),
                ("Spacing", "ElementSpacing = 0.5 0.75 2"), ("Size", "DimSize = 5 4 3"),
                ("Type", "ElementType = MET_\(Self.metaTypes[type] ?? "")"),
                ("Data", "ElementDataFile = \(dataFile ?? "LOCAL")"),
            ]
        default:
            [
                ("NRRD", "NRRD0005"), ("type", "type: \(Self.nrrdTypes[type] ?? "")"), ("dimension", "dimension: 3"),
                ("space", "space: left-posterior-superior"), ("sizes", "sizes: 5 4 3"),
                ("directions", "space directions: (0,0.5,0) (0.75,0,0) (0, 0, -2)"),
                ("origin", "space origin: (1,-2,3.5)"), ("endian", "endian: \(byteOrder.rawValue)"),
                ("encoding", "encoding: \(isCompressed ? "gzip" : "raw")"),
                ("data", dataFile.map { "data file: \($0)" } ?? ""),
            ]
        }
    }

    func header() -> [UInt8] {
        var all = lines
        for change in changes {
            if let place = all.firstIndex(where: { $0.name == change.name }) {
                all[place].line = change.line
            } else {
                // In front of the line that ends the header of a MetaImage.
                all.insert(change, at: all.count - 1)
            }
        }
        let text = all.filter { !$0.line.isEmpty }.map { $0.line + "\n" }.joined()
        return Array((format == .nrrd && dataFile == nil ? text + "\n" : text).utf8)
    }

    func voxels(_ values: [Double]) -> [UInt8] {
        let stored = HandmadeNIfTI(byteOrder: byteOrder, dataType: type.rawValue).voxels(values)
        return isCompressed ? (format == .metaImage ? storedZlib(stored) : storedGzip(stored)) : stored
    }

    /// Writes the file, and that of its voxels; the path of the header.
    func write(_ values: [Double], _ folder: TemporaryFolder, name: String = "v") throws -> String {
        guard let dataFile else {
            let ending = format == .metaImage ? "mha" : "nrrd"
            return try folder.write(header() + voxels(values), to: "\(name).\(ending)").path
        }
        try folder.write(voxels(values), to: dataFile)
        return try folder.write(header(), to: "\(name).\(format == .metaImage ? "mhd" : "nhdr")").path
    }

    static let values = (0..<voxelCount).map { Double($0 % 100) }
}

/// A zlib stream of one stored block.
func storedZlib(_ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let block: [UInt8] = [1, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8 & 255)]
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in content {
        low = (low + UInt32(byte)) % 65521
        high = (high + low) % 65521
    }
    let sum = high << 16 | low
    return [0x78, 0x01] + block + content + (0..<4).map { UInt8(sum >> (24 - 8 * $0) & 255) }
}

@Suite("Reading NRRD and MetaImage")
struct VolumeFileReaderTests {
    /// Of ``HandmadeVolume``, in RAS: x and y of LPS change their signs.
    static let affine = Affine(
        columnI: SIMD3(0, -0.5, 0),
        columnJ: SIMD3(-0.75, 0, 0),
        columnK: SIMD3(0, 0, -2),
        translation: SIMD3(-1, 2, 3.5)
    )

    @Test(
        "Every type, byte order, compression and container gives the same volume",
        arguments: StoredVoxelType.allCases
    )
    func matrix(type: StoredVoxelType) throws {
        let values = NIfTIReaderTests.values(of: type, count: HandmadeVolume.voxelCount)
        try TemporaryFolder.with { folder in
            for format in [VolumeFileFormat.nrrd, .metaImage] {
                for order in VolumeFileHeader.ByteOrder.allCases {
                    for (isCompressed, dataFile) in [(false, nil), (true, nil), (false, "v.raw"), (true, "./v.z")] {
                        let file = HandmadeVolume(
                            format: format,
                            type: type,
                            byteOrder: order,
                            isCompressed: isCompressed,
                            dataFile: dataFile
                        )
                        let read = try VolumeFileReader.readVolume(at: file.write(values, folder), scope: .serial())
                        #expect(read.volume.voxels.array() == values.map { Float($0) })
                        #expect(read.header.format == format && read.header.version == nil)
                        #expect(read.header.dataType == type)
                        #expect(read.header.shape == VolumeShape(x: 5, y: 4, z: 3))
                        #expect(read.header.geometry.affine == Self.affine)
                        #expect(read.header.pixelSpacing == SIMD3(0.5, 0.75, 2))
                        #expect(read.header.notes.isEmpty)
                    }
                }
            }
        }
    }

    @Test(
        "The files of SimpleITK lie where they were put",
        arguments: ["nrrd", "nhdr", "mha", "mhd"].flatMap { ["\($0)-raw.\($0)", "\($0)-compressed.\($0)"] }
    )
    func written(name: String) throws {
        let read = try VolumeFileReader.readVolume(
            at: Fixtures.url("VolumeFiles/\(name)").path,
            scope: .serial()
        )
        let (cosine, sine) = (3.0.squareRoot() / 2, 0.5)
        let expected = VolumeGeometry(
            shape: VolumeShape(x: 5, y: 4, z: 3),
            affine: Affine(
                columnI: 0.5 * SIMD3(-cosine, -sine, 0),
                columnJ: 0.75 * SIMD3(sine, -cosine, 0),
                columnK: SIMD3(0, 0, 2),
                translation: SIMD3(-10, 20, 30.5)
            )
        )
        #expect(read.volume.geometry.matches(expected, tolerance: 1e-12))
        for k in 0..<3 {
            for j in 0..<4 {
                for i in 0..<5 {
                    let voxel = read.volume.voxels[expected.shape.offset(i, j, k)]
                    #expect(voxel == Float(i + 10 * j + 100 * k - 100))
                }
            }
        }
    }

    @Test("A segmentation of 3D Slicer names its labels")
    func slicer() throws {
        let path = Fixtures.url("VolumeFiles/case.seg.nrrd").path
        let read = try VolumeFileReader.readLabels(at: path, scope: .serial())
        #expect(read.header.labelNames == [1: "left kidney", 3: "tumour: primary"])
        #expect(read.labels.voxels.array().filter { $0 == 1 }.count == 5)
        #expect(read.labels.voxels.array().filter { $0 == 3 }.count == 3)
        var bytes = try FileSystem.read(path)
        let place = try #require(bytes.firstRange(of: Array("Segment0_LabelValue".utf8))).lowerBound
        bytes.insert(contentsOf: Array("Segment0_Color:=0.2 0.4 1\n".utf8), at: place)
        try TemporaryFolder.with { folder in
            let labels = try VolumeFileReader.readHeader(at: folder.write(bytes, to: "a.seg.nrrd").path).labels
            #expect(labels[1]?.color?.description == "#3366ff" && labels[3]?.color == nil)
        }
    }

    @Test(
        "Anatomical spaces become RAS",
        arguments: [
            ("right-anterior-superior", SIMD3<Double>(1, 1, 1)), ("LAS", SIMD3(-1, 1, 1)),
            ("left-anterior-superior", SIMD3(-1, 1, 1)), ("LPS", SIMD3(-1, -1, 1)),
        ] as [(String, SIMD3<Double>)]
    )
    func spaces(name: String, signs: SIMD3<Double>) throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeVolume(changes: [("space", "space: \(name)")])
            let header = try VolumeFileReader.readHeader(at: file.write(HandmadeVolume.values, folder))
            #expect(header.geometry.affine.columnI == SIMD3(0, 0.5, 0) * signs)
            #expect(header.geometry.affine.translation == SIMD3(1, -2, 3.5) * signs)
        }
    }

    @Test("Units of length become millimetres")
    func units() throws {
        try TemporaryFolder.with { folder in
            let files = [
                HandmadeVolume(changes: [("units", "space units: \"cm\" \"cm\" \"cm\"")]),
                HandmadeVolume(format: .metaImage, changes: [("units", "DistanceUnits = cm")]),
            ]
            for file in files {
                let header = try VolumeFileReader.readHeader(at: file.write(HandmadeVolume.values, folder))
                #expect(header.pixelSpacing == SIMD3(5, 7.5, 20))
                #expect(header.geometry.affine.translation == SIMD3(-10, 20, 35))
            }
        }
    }

    @Test("A header without orientation is refused, or read as ITK does")
    func orientation() throws {
        try TemporaryFolder.with { folder in
            let files = [
                HandmadeVolume(changes: [
                    ("space", ""), ("directions", ""), ("origin", ""), ("spacings", "spacings: 0.5 0.75 2"),
                ]),
                HandmadeVolume(format: .metaImage, changes: [("Matrix", "")]),
            ]
            for file in files {
                let path = try file.write(HandmadeVolume.values, folder)
                #expect(niftiFault { _ = try VolumeFileReader.readHeader(at: path) }?.code == .missingOrientation)
                let header = try VolumeFileReader.readHeader(at: path, assumesOrientation: true)
                #expect(
                    header.geometry.affine
                        == Affine(
                            columnI: SIMD3(-0.5, 0, 0),
                            columnJ: SIMD3(0, -0.75, 0),
                            columnK: SIMD3(0, 0, 2),
                            translation: .zero
                        )
                )
                #expect(header.notes.map(\.code) == ["nifti.orientationAssumed"])
            }
            // Directions of a space that is not the patient's.
            let other = HandmadeVolume(changes: [("space", "space: 3D-right-handed")])
            let path = try other.write(HandmadeVolume.values, folder)
            #expect(niftiFault { _ = try VolumeFileReader.readHeader(at: path) }?.code == .missingOrientation)
        }
    }

    @Test("Voxels are found behind skipped bytes, and at the end of their file")
    func skippedBytes() throws {
        try TemporaryFolder.with { folder in
            let values = HandmadeVolume.values
            for (line, isAtEnd) in [("byte skip: 7", false), ("byte skip: -1", true)] {
                // The name begins as the word for several files, and a field follows it.
                let file = HandmadeVolume(dataFile: "listed.raw", changes: [("skip", line)])
                let path = try file.write(values, folder)
                let junk = [UInt8](repeating: 9, count: 7)
                try folder.write(junk + file.voxels(values) + (isAtEnd ? [] : junk), to: "listed.raw")
                let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
                #expect(read.volume.voxels.array() == values.map { Float($0) })
            }
            let meta = HandmadeVolume(format: .metaImage, dataFile: "m.raw", changes: [("skip", "HeaderSize = -1")])
            let path = try meta.write(values, folder)
            try folder.write([UInt8](repeating: 9, count: 11) + meta.voxels(values), to: "m.raw")
            let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
            #expect(read.volume.voxels.array() == values.map { Float($0) })
        }
    }

    @Test("Raw voxels that begin as gzip does are not decompressed")
    func rawLikeGzip() throws {
        try TemporaryFolder.with { folder in
            var values = HandmadeVolume.values
            (values[0], values[1]) = (0x1f, 0x8b)
            let file = HandmadeVolume(type: .uint8, dataFile: "v.raw")
            let read = try VolumeFileReader.readVolume(at: file.write(values, folder), scope: .serial())
            #expect(read.volume.voxels.array() == values.map { Float($0) })
        }
    }
}
