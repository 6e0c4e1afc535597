import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Hostile NRRD and MetaImage files")
struct VolumeFileHostileTests {
    struct Case: Sendable {
        let name: String
        let line: String
        let code: VolumeFileErrorCode

        init(_ name: String, _ line: String, _ code: VolumeFileErrorCode) {
            (self.name, self.line, self.code) = (name, line, code)
        }
    }

    private static func code(_ file: HandmadeVolume) throws -> VolumeFileErrorCode? {
        try TemporaryFolder.with { folder in
            let path = try file.write(HandmadeVolume.values, folder)
            return niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) }?.code
        }
    }

    @Test(
        "A header of NRRD that cannot be used is refused by its fact",
        arguments: [
            Case("NRRD", "NRRD0009", .notNIfTI), Case("type", "", .invalidHeader),
            Case("type", "type: block", .unsupportedDataType), Case("dimension", "dimension: 4", .notThreeDimensional),
            Case("dimension", "dimension: 2", .notThreeDimensional), Case("dimension", "dimension: x", .invalidHeader),
            Case("kinds", "kinds: vector domain domain", .notThreeDimensional), Case("sizes", "", .invalidHeader),
            Case("sizes", "sizes: 5 4", .invalidHeader), Case("sizes", "sizes: 5 4 0", .invalidDimensions),
            Case("sizes", "sizes: 5 4 -3", .invalidDimensions), Case("sizes", "sizes: 5 4 3e9", .invalidHeader),
            Case("sizes", "sizes: 4294967296 4294967296 4294967296", .invalidDimensions),
            Case("sizes", "sizes: 2000 2000 2000", .truncated), Case("sizes", "sizes: 5 4 4", .truncated),
            Case("endian", "", .invalidHeader), Case("endian", "endian: middle", .invalidHeader),
            Case("encoding", "", .invalidHeader), Case("encoding", "encoding: ascii", .unsupportedStorage),
            Case("encoding", "encoding: bzip2", .unsupportedStorage),
            Case("encoding", "encoding: gzip", .corruptCompression),
            Case("line", "line skip: 1", .unsupportedStorage), Case("skip", "byte skip: -2", .invalidDataOffset),
            Case("skip", "byte skip: 9223372036854775807", .invalidDataOffset),
            Case("directions", "space directions: none (1,0,0) (0,1,0)", .invalidHeader),
            Case("directions", "space directions: (1,0,0) (0,1,0)", .invalidHeader),
            Case("directions", "space directions: (1,0,0) (2,0,0) (0,0,1)", .invalidAffine),
            Case("directions", "space directions: (0,0,0) (0,1,0) (0,0,1)", .invalidSpacing),
            Case("directions", "space directions: (nan,0,0) (0,1,0) (0,0,1)", .invalidSpacing),
            Case("directions", "space directions: (1,0,0 (0,1,0) (0,0,1)", .invalidHeader),
            Case("origin", "space origin: (inf,0,0)", .invalidAffine),
            Case("origin", "space origin: 1 2 3", .invalidHeader),
            Case("units", "space units: \"mm\" \"cm\" \"mm\"", .invalidHeader),
            Case("data", "data file: /etc/hostname", .unsupportedStorage),
            Case("data", "data file: ../v.raw", .unsupportedStorage),
            Case("data", "data file: ..", .unsupportedStorage),
            Case("data", "data file: LIST", .unsupportedStorage),
            Case("data", "data file: LIST\nslice-1.raw\nslice-2.raw", .unsupportedStorage),
            Case("data", "datafile: LIST 2\nslice: 1.raw", .unsupportedStorage),
            Case("data", "data file: v%03d.raw 1 3 1", .unsupportedStorage),
            Case("data", "data file: missing.raw", .unreadable), Case("double", "sizes: 5 4 3", .invalidHeader),
            Case("text", "no field", .invalidHeader),
        ]
    )
    func nrrd(_ one: Case) throws {
        #expect(try Self.code(HandmadeVolume(changes: [(one.name, one.line)])) == one.code)
    }

    @Test(
        "A header of MetaImage that cannot be used is refused by its fact",
        arguments: [
            Case("ObjectType", "Object = Image", .notNIfTI),
            Case("ObjectType", "ObjectType = Tube", .notThreeDimensional),
            Case("NDims", "", .invalidHeader), Case("NDims", "NDims = 4", .notThreeDimensional),
            Case("Size", "DimSize = 5 4", .invalidHeader), Case("Size", "DimSize = 5 4 0", .invalidDimensions),
            Case("Size", "DimSize = 5 4 4", .truncated), Case("Size", "DimSize = 2000 2000 2000", .truncated),
            Case("Channels", "ElementNumberOfChannels = 3", .notThreeDimensional),
            Case("Type", "ElementType = MET_STRING", .unsupportedDataType), Case("Type", "", .invalidHeader),
            Case("Spacing", "", .invalidSpacing), Case("Spacing", "ElementSpacing = 1 1 0", .invalidSpacing),
            Case("Spacing", "ElementSpacing = 1 -1 1", .invalidSpacing),
            Case("Spacing", "ElementSpacing = 1 x 1", .invalidHeader),
            Case("Matrix", "TransformMatrix = 1 0 0 1 0 0 0 0 1", .invalidAffine),
            Case("Matrix", "TransformMatrix = 1 0 0 0", .invalidHeader),
            Case("BinaryData", "BinaryData = False", .unsupportedStorage),
            Case("BinaryData", "BinaryData = perhaps", .invalidHeader),
            Case("Compressed", "CompressedData = True", .corruptCompression),
            Case("Slope", "ElementToIntensityFunctionSlope = 2", .invalidScaling),
            Case("Data", "ElementDataFile = LIST", .unsupportedStorage),
            Case("Data", "ElementDataFile = /dev/zero", .unsupportedStorage),
            Case("Data", "ElementDataFile = a/v.raw", .unsupportedStorage),
            Case("Data", "ElementDataFile = v%d.raw 1 3 1", .unsupportedStorage),
            Case("Data", "", .invalidHeader), Case("double", "NDims = 3", .invalidHeader),
        ]
    )
    func metaImage(_ one: Case) throws {
        #expect(try Self.code(HandmadeVolume(format: .metaImage, changes: [(one.name, one.line)])) == one.code)
    }

    @Test(
        "What SimpleITK writes of several values or more axes is refused",
        arguments: ["vector.nrrd", "vector.mha", "four-axes.nrrd", "four-axes.mha"]
    )
    func refused(name: String) throws {
        let path = Fixtures.url("VolumeFiles/refused-\(name)").path
        #expect(niftiFault { _ = try VolumeFileReader.readHeader(at: path) }?.code == .notThreeDimensional)
    }

    @Test("A file cut at any byte is refused, whatever its format and storage")
    func cut() throws {
        try TemporaryFolder.with { folder in
            for format in [VolumeFileFormat.nrrd, .metaImage] {
                for isCompressed in [false, true] {
                    let file = HandmadeVolume(format: format, type: .uint8, isCompressed: isCompressed)
                    let bytes = file.header() + file.voxels(HandmadeVolume.values)
                    for count in 0..<bytes.count {
                        let path = try folder.write(Array(bytes[..<count]), to: "cut.\(format.endings[0])").path
                        let fault = niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) }
                        #expect(fault != nil, "\(format) with \(count) of \(bytes.count) bytes")
                    }
                }
            }
        }
    }

    @Test("A detached file that is cut is refused, and its name is not shown")
    func detached() throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeVolume(dataFile: "Doe-John.raw")
            let path = try file.write(HandmadeVolume.values, folder)
            try folder.write(Array(file.voxels(HandmadeVolume.values).dropLast()), to: "Doe-John.raw")
            let cut = niftiFault { _ = try VolumeFileReader.readHeader(at: path) }
            #expect(cut?.code == .truncated && cut?.detail.contains("119 of 120 bytes") == true)
            try FileManager.default.removeItem(atPath: folder("Doe-John.raw").path)
            let missing = niftiFault { _ = try VolumeFileReader.readHeader(at: path) }
            #expect(missing?.code == .unreadable && missing?.detail.contains("Doe") == false)
        }
    }

    @Test("A header without an end is given up")
    func endless() throws {
        try TemporaryFolder.with { folder in
            let bytes = Array("NRRD0004\n".utf8) + [UInt8](repeating: UInt8(ascii: "#"), count: 2 << 20)
            let path = try folder.write(bytes, to: "endless.nrrd").path
            #expect(niftiFault { _ = try VolumeFileReader.readHeader(at: path) }?.code == .invalidHeader)
        }
    }
}
