import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Reading NIfTI")
struct NIfTIReaderTests {
    /// Values that the type can hold, with its ends.
    static func values(of type: StoredVoxelType, count: Int) -> [Double] {
        let ends: [Double] =
            switch type {
            case .uint8: [0, 255]
            case .int8: [-128, 127]
            case .uint16: [0, 65535]
            case .int16: [-32768, 32767]
            case .uint32: [0, 4_294_967_295]
            case .int32: [-2_147_483_648, 2_147_483_647]
            case .uint64: [0, 9_007_199_254_740_992]
            case .int64: [-9_007_199_254_740_992, 9_007_199_254_740_992]
            case .float32: [-3.25e7, 1.5e-20]
            case .float64: [-1.000000001, 1e30]
            }
        return (0..<count).map { $0 < 2 ? ends[$0] : Double($0 % 100) }
    }

    @Test(
        "The range to be shown is read where it is one",
        arguments: [([400.0, -160], true), ([0, 0], false), ([-5, 5], false), ([.nan, 0], false)] as [([Double], Bool)]
    )
    func displayRange(stored: [Double], isOne: Bool) throws {
        try TemporaryFolder.with { folder in
            for version in VolumeFileHeader.NIfTIVersion.allCases {
                for order in VolumeFileHeader.ByteOrder.allCases {
                    var file = HandmadeNIfTI(version: version, byteOrder: order)
                    file.displayRange = stored
                    let values = [Double](repeating: 0, count: file.voxelCount)
                    let header = try VolumeFileReader.readHeader(at: try Self.write(file, values, 0, folder))
                    #expect((header.displayRange != nil) == isOne)
                    guard isOne else { continue }
                    #expect(header.displayRange?.lower == stored[1] && header.displayRange?.upper == stored[0])
                }
            }
        }
    }

    @Test("Every type, byte order, version and container gives the same volume", arguments: StoredVoxelType.allCases)
    func matrix(type: StoredVoxelType) throws {
        try TemporaryFolder.with { folder in
            for version in VolumeFileHeader.NIfTIVersion.allCases {
                for order in VolumeFileHeader.ByteOrder.allCases {
                    for container in 0..<6 {
                        var file = HandmadeNIfTI(version: version, byteOrder: order, isPair: container >= 2)
                        file.dataType = type.rawValue
                        let values = Self.values(of: type, count: file.voxelCount)
                        let path = try Self.write(file, values, container, folder)
                        let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
                        let header = read.header
                        #expect(header.version == version)
                        #expect(header.byteOrder == order)
                        #expect(header.dataType == type)
                        #expect(header.shape == VolumeShape(x: 5, y: 4, z: 3))
                        #expect(header.geometry.affine == Affine(rows: file.sform))
                        #expect((header.qformCode, header.sformCode) == (0, 2))
                        #expect(read.volume.voxels.array() == values.map { Float($0) })
                        #expect(read.nonFiniteCount == 0)
                        #expect(try VolumeFileReader.readHeader(at: path) == header)
                    }
                }
            }
        }
    }

    /// Plain, gzip, pair, pair of gzip, gzip under plain names, and a pair asked for by its image.
    static func write(
        _ file: HandmadeNIfTI,
        _ values: [Double],
        _ container: Int,
        _ folder: TemporaryFolder
    ) throws -> String {
        let (header, voxels) = (file.header(), file.voxels(values))
        let name = "v\(file.version.rawValue)-\(file.byteOrder)-\(file.dataType)-\(container)"
        switch container {
        case 0: return try folder.write(header + voxels, to: name + ".nii").path
        case 1: return try folder.write(storedGzip(header + voxels), to: name + ".nii.gz").path
        case 2:
            try folder.write(voxels, to: name + ".img")
            return try folder.write(header, to: name + ".hdr").path
        case 3:
            try folder.write(storedGzip(voxels), to: name + ".img.gz")
            return try folder.write(storedGzip(header), to: name + ".hdr.gz").path
        case 4:
            try folder.write(storedGzip(voxels), to: name + ".img")
            return try folder.write(storedGzip(header), to: name + ".hdr").path
        default:
            try folder.write(header, to: name + ".hdr")
            return try folder.write(voxels, to: name + ".img").path
        }
    }

    @Test("Scaling is computed in double and rounded once", arguments: StoredVoxelType.allCases)
    func scaling(type: StoredVoxelType) throws {
        try TemporaryFolder.with { folder in
            for order in VolumeFileHeader.ByteOrder.allCases {
                var file = HandmadeNIfTI(version: .nifti2, byteOrder: order, dataType: type.rawValue)
                (file.slope, file.intercept) = (0.1, -1024.3)
                let values = Self.values(of: type, count: file.voxelCount)
                let path = try folder.write(file.file(values), to: "\(order).nii").path
                let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
                let stored = type == .float32 ? values.map { Double(Float($0)) } : values
                #expect(read.volume.voxels.array() == stored.map { Float($0 * 0.1 + -1024.3) })
                #expect((read.header.scalingSlope, read.header.scalingIntercept) == (0.1, -1024.3))
            }
        }
    }

    @Test(
        "A slope that is zero or not finite means no scaling, whatever the intercept",
        arguments: [0, .nan, .infinity]
    )
    func noScaling(slope: Double) throws {
        try TemporaryFolder.with { folder in
            var file = HandmadeNIfTI()
            (file.slope, file.intercept) = (slope, 100)
            let values = (0..<file.voxelCount).map(Double.init)
            let path = try folder.write(file.file(values), to: "a.nii").path
            let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
            #expect(!read.header.hasScaling)
            #expect(read.volume.voxels.array() == values.map { Float($0) })
        }
    }

    @Test("Voxels that are not finite are counted and kept")
    func nonFinite() throws {
        try TemporaryFolder.with { folder in
            for type in [StoredVoxelType.float32, .float64] {
                let file = HandmadeNIfTI(dataType: type.rawValue)
                var values = (0..<file.voxelCount).map(Double.init)
                (values[3], values[10], values[59]) = (.nan, .infinity, -.infinity)
                let path = try folder.write(file.file(values), to: "\(type).nii").path
                let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
                #expect(read.nonFiniteCount == 3)
                #expect(read.volume.voxels[3].isNaN)
                #expect(read.volume.voxels[59] == -.infinity)
            }
        }
    }

    @Test("Finite numbers outside the range of float32 are counted with those that are not finite")
    func outOfRange() throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeNIfTI(dataType: StoredVoxelType.float64.rawValue)
            var values = (0..<file.voxelCount).map(Double.init)
            (values[3], values[10]) = (1e300, -3.5e38)
            let path = try folder.write(file.file(values), to: "a.nii").path
            #expect(try VolumeFileReader.readVolume(at: path, scope: .serial()).nonFiniteCount == 2)
        }
    }

    @Test("Extensions, intent and units come with the header")
    func extensions() throws {
        try TemporaryFolder.with { folder in
            for version in VolumeFileHeader.NIfTIVersion.allCases {
                for order in VolumeFileHeader.ByteOrder.allCases {
                    var file = HandmadeNIfTI(version: version, byteOrder: order)
                    file.extensions = [
                        VolumeFileHeader.Extension(code: 6, bytes: Array("comment!".utf8)),
                        VolumeFileHeader.Extension(code: 30, bytes: (0..<40).map { UInt8($0) }),
                    ]
                    (file.intentCode, file.units) = (1002, 10)
                    let values = (0..<file.voxelCount).map(Double.init)
                    let path = try folder.write(file.file(values), to: "a.nii").path
                    let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
                    #expect(read.header.extensions == file.extensions)
                    #expect((read.header.intentCode, read.header.unitsCode) == (1002, 10))
                    #expect(read.volume.voxels.array() == values.map { Float($0) })
                }
            }
        }
    }

    @Test(
        "A damaged extension ends the list and does no other harm",
        arguments: [0, 8, 20, -16, 1 << 20, Int(Int32.max)]
    )
    func damagedExtension(size: Int) throws {
        try TemporaryFolder.with { folder in
            var file = HandmadeNIfTI()
            file.extensions = [VolumeFileHeader.Extension(code: 6, bytes: [UInt8](repeating: 1, count: 24))]
            var bytes = file.file((0..<file.voxelCount).map(Double.init))
            for index in 0..<4 { bytes[352 + index] = UInt8(truncatingIfNeeded: size >> (8 * index)) }
            let read = try VolumeFileReader.readVolume(at: folder.write(bytes, to: "a.nii").path, scope: .serial())
            #expect(read.header.extensions.isEmpty)
            #expect(read.volume.voxels[59] == 59)
        }
    }

    @Test("Dimensions of one behind the third are no matter; bytes behind the voxels neither")
    func tolerated() throws {
        try TemporaryFolder.with { folder in
            var file = HandmadeNIfTI()
            file.dimensions = [5, 5, 4, 3, 1, 1]
            let values = (0..<file.voxelCount).map(Double.init)
            let plain = file.file(values)
            for (name, bytes) in [
                ("plain.nii", plain + [1, 2, 3]), ("inside.nii.gz", storedGzip(plain + [1, 2, 3])),
                ("behind.nii.gz", storedGzip(plain) + [0, 0, 7]),
                ("members.nii.gz", storedGzip(Array(plain[..<400])) + storedGzip(Array(plain[400...]))),
            ] {
                let read = try VolumeFileReader.readVolume(at: folder.write(bytes, to: name).path, scope: .serial())
                #expect(read.volume.voxels.array() == values.map { Float($0) }, "\(name)")
            }
        }
    }

    @Test("Label maps are read from every type", arguments: StoredVoxelType.allCases)
    func labels(type: StoredVoxelType) throws {
        try TemporaryFolder.with { folder in
            for order in VolumeFileHeader.ByteOrder.allCases {
                for slope in [0.0, 2.0] {
                    var file = HandmadeNIfTI(byteOrder: order, dataType: type.rawValue)
                    file.slope = slope
                    let values = (0..<file.voxelCount).map { Double($0 * 2) }
                    let path = try folder.write(file.file(values), to: "a.nii").path
                    let read = try VolumeFileReader.readLabels(at: path, scope: .serial())
                    #expect(read.labels.voxels.array() == values.map { UInt16(slope == 0 ? $0 : $0 * slope) })
                    #expect(read.labels.geometry == read.header.geometry)
                }
            }
        }
    }

    @Test("Labels that are whole but for rounding are read, with a note", arguments: [1.0, 1.0000152587890625])
    func nearlyWhole(factor: Double) throws {
        try TemporaryFolder.with { folder in
            let whole = (0..<60).map { Double($0 % 5) }
            var float = HandmadeNIfTI(dataType: StoredVoxelType.float64.rawValue)
            float.slope = 0
            var scaled = HandmadeNIfTI(dataType: StoredVoxelType.int16.rawValue)
            // As nibabel stores an array of doubles as int16.
            (scaled.slope, scaled.intercept) = (4.0 / 65000, 2)
            let stored = whole.map { (($0 - 2) / scaled.slope).rounded() }
            // Labels from 0 to 4 over the range of a byte: 1 is stored as 64, which is 1.0039.
            var byte = HandmadeNIfTI(dataType: StoredVoxelType.uint8.rawValue)
            byte.slope = 4.0 / 255
            let values = whole.map { $0 * factor + ($0 == 3 ? -0.0009 : 0) }
            for (bytes, isNoted) in [
                (float.file(values), true), (float.file(whole), false), (scaled.file(stored), true),
                (byte.file(whole.map { ($0 / byte.slope).rounded() }), true),
            ] {
                let path = try folder.write(bytes, to: "a.nii").path
                var notes: [String] = []
                let read = try VolumeFileReader.readLabels(at: path, scope: .serial()) { notes.append($0.description) }
                #expect(read.labels.voxels.array() == whole.map { UInt16($0) })
                #expect(!notes.isEmpty == isNoted)
                var scanned: [UInt16] = []
                _ = try VolumeFileReader.scanLabels(at: path, scope: .serial()) { scanned += Array($2) }
                #expect(scanned == read.labels.voxels.array())
            }
        }
    }

    @Test(
        "What is no label is refused by its place",
        arguments: [-1, 65536, 0.5, 0.64, 1.0011, -0.0011, 65535.0011, 1e300, .nan, .infinity]
    )
    func notLabels(value: Double) throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeNIfTI(dataType: StoredVoxelType.float64.rawValue)
            var values = [Double](repeating: 65535, count: file.voxelCount)
            values[5 * 4 + 7] = value
            let path = try folder.write(file.file(values), to: "a.nii").path
            let fault = niftiFault { _ = try VolumeFileReader.readLabels(at: path, scope: .serial()) }
            #expect(fault?.code == .notLabels)
            #expect(fault?.description.contains("voxel (2, 1, 1)") == true)
        }
    }

    @Test("A raised flag stops reading")
    func cancelled() throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeNIfTI()
            let path = try folder.write(storedGzip(file.file([Double](repeating: 1, count: 60))), to: "a.nii.gz").path
            let flag = CancellationFlag()
            flag.cancel()
            #expect(throws: CancelledError.self) { _ = try VolumeFileReader.readVolume(at: path, scope: .serial(flag)) }
            #expect(throws: CancelledError.self) { _ = try VolumeFileReader.readLabels(at: path, scope: .serial(flag)) }
        }
    }
}
