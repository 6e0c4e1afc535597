import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// A segmentation written byte by byte.
struct TestSegmentation {
    var kind = "BINARY"
    var columns = 5
    var rows = 3
    var bits = 1
    /// Segment (nil for label maps), height in mm, and values of the pixels.
    var frames: [(segment: Int?, z: Double, values: [Int])] = []
    var segments = 2
    var maximum: Int?
    var padding: Int?
    var stated: Double?
    var pixelBytes: [UInt8]?
    var change: (inout DICOMDataSet) -> Void = { _ in }

    var set: DICOMDataSet {
        var set = DICOMDataSet()
        set.text(0x0008_0016, "UI", "1.2.840.10008.5.1.4.1.1.66.4")
        set.text(0x0008_0060, "CS", "SEG")
        set.text(0x0020_000D, "UI", "1.2.3")
        set.short(0x0028_0002, 1)
        set.text(0x0028_0004, "CS", "MONOCHROME2")
        set.text(0x0028_0008, "IS", "\(frames.count)")
        set.short(0x0028_0010, rows)
        set.short(0x0028_0011, columns)
        set.short(0x0028_0100, bits)
        set.short(0x0028_0101, bits)
        set.short(0x0028_0102, bits - 1)
        set.short(0x0028_0103, 0)
        if let padding { set.short(0x0028_0120, padding) }
        set.text(0x0062_0001, "CS", kind)
        if let maximum { set.short(0x0062_000E, maximum) }
        set.items(
            0x0062_0002,
            (0..<segments).map { index in
                var item = DICOMDataSet()
                item.short(0x0062_0004, kind == "LABELMAP" ? index : index + 1)
                item.text(0x0062_0005, "LO", "segment \(index)")
                return item
            },
            .explicit
        )
        var measures = DICOMDataSet()
        measures.text(0x0028_0030, "DS", "2\\0.5")
        if let stated { measures.text(0x0018_0088, "DS", "\(stated)") }
        var orientation = DICOMDataSet()
        orientation.text(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0")
        var shared = DICOMDataSet()
        shared.items(0x0028_9110, [measures], .explicit)
        shared.items(0x0020_9116, [orientation], .explicit)
        set.items(0x5200_9229, [shared], .explicit)
        set.items(
            0x5200_9230,
            frames.map { frame in
                var position = DICOMDataSet()
                position.text(0x0020_0032, "DS", "10\\20\\\(frame.z)")
                var groups = DICOMDataSet()
                groups.items(0x0020_9113, [position], .explicit)
                if let segment = frame.segment {
                    var identification = DICOMDataSet()
                    identification.short(0x0062_000B, segment)
                    groups.items(0x0062_000A, [identification], .explicit)
                }
                return groups
            },
            .explicit
        )
        set.bytes(0x7FE0_0010, bits == 16 ? "OW" : "OB", pixelBytes ?? pixels)
        change(&set)
        return set
    }

    private var pixels: [UInt8] {
        let values = frames.flatMap(\.values)
        switch bits {
        case 1:
            var bytes = [UInt8](repeating: 0, count: (values.count + 7) / 8)
            for (index, value) in values.enumerated() where value != 0 { bytes[index / 8] |= 1 << UInt8(index % 8) }
            return bytes
        case 8: return values.map { UInt8($0) }
        default: return values.flatMap { littleEndian(UInt16($0)) }
        }
    }

    var file: [UInt8] { DICOMDataSet.preamble("1.2.840.10008.1.2.1") + set.encoded(.explicit) }
}

@Suite("Segmentations of every kind are read")
struct SegmentationReaderTests {
    private func read(
        _ bytes: [UInt8],
        limits: DICOMObjectLimits = DICOMObjectLimits()
    ) throws -> DICOMSegmentation {
        try TemporaryFolder.with { folder in
            try DICOMSegmentation.read(path: try folder.write(bytes, to: "seg.dcm").path, limits: limits)
        }
    }

    private func values(_ volume: LabelVolume) -> [UInt16] { volume.voxels.withUnsafeBufferPointer { Array($0) } }

    private func random(_ seed: UInt64, below: UInt64, count: Int = 15) -> [Int] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in Int(random.next() % below) }
    }

    @Test("a grid is refused of which each frame covers several slices")
    func thickFrames() throws {
        let affine = Affine(
            columnI: SIMD3(-0.5, 0, 0),
            columnJ: SIMD3(0, -2, 0),
            columnK: SIMD3(0, 0, 1.5),
            translation: SIMD3(-10, -20, 0)
        )
        let grid = VolumeGeometry(shape: VolumeShape(x: 5, y: 3, z: 7), affine: affine)
        var object = TestSegmentation()
        object.frames = [0, 3, 9].map { (1, $0, random(1, below: 2)) }
        func read(stated: Double) throws -> DICOMSegmentation {
            object.stated = stated
            return try TemporaryFolder.with { folder in
                try DICOMSegmentation.read(path: try folder.write(object.file, to: "seg.dcm").path, on: grid)
            }
        }
        #expect(throws: DICOMReadError.self) { try read(stated: 3) }
        // Planes without voxels may have no frame.
        #expect(try read(stated: 1.5).geometry.shape.z == 7)
    }

    @Test("the images that frames and the object name are read, with their frames")
    func references() throws {
        var object = TestSegmentation()
        object.frames = [(1, 0, random(1, below: 2))]
        func image(_ uid: String, _ frames: String?) -> DICOMDataSet {
            var item = DICOMDataSet()
            item.text(0x0008_1155, "UI", uid)
            if let frames { item.text(0x0008_1160, "IS", frames) }
            return item
        }
        object.change = { set in
            var series = DICOMDataSet()
            series.text(0x0020_000E, "UI", "1.5")
            series.items(0x0008_114A, [image("1.5.1", nil), image("1.5.2", nil)], .explicit)
            set.items(0x0008_1115, [series], .explicit)
            var derivation = DICOMDataSet()
            derivation.items(0x0008_2112, [image("1.5.2", "3\\4")], .explicit)
            var shared = DICOMDataSet()
            shared.items(0x0008_9124, [derivation], .explicit)
            var measures = DICOMDataSet()
            measures.text(0x0028_0030, "DS", "2\\0.5")
            measures.text(0x0018_0050, "DS", "1")
            shared.items(0x0028_9110, [measures], .explicit)
            var orientation = DICOMDataSet()
            orientation.text(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0")
            shared.items(0x0020_9116, [orientation], .explicit)
            set.items(0x5200_9229, [shared], .explicit)
        }
        try TemporaryFolder.with { folder in
            let path = try folder.write(object.file, to: "seg.dcm").path
            let found = try DICOMSegmentation.readReference(path: path)
            #expect(found.series == "1.5")
            #expect(found.images.map(\.instanceUID) == ["1.5.1", "1.5.2", "1.5.2", "1.5.2"])
            #expect(found.images.map(\.frame) == [0, 0, 3, 4])
        }
    }

    @Test("frames in any order, sparse and of bits that begin inside a byte; overlaps are spread")
    func binary() throws {
        var object = TestSegmentation()
        let (a, b, c) = (random(1, below: 2), random(2, below: 2), random(3, below: 2))
        object.frames = [(2, 9, a), (1, 0, b), (1, 9, c)]
        object.stated = 3
        let read = try read(object.file)
        #expect(read.geometry.shape == VolumeShape(x: 5, y: 3, z: 4))
        #expect(read.geometry.affine.columnI == SIMD3(-0.5, 0, 0))
        #expect(read.geometry.affine.columnJ == SIMD3(0, -2, 0))
        #expect(read.geometry.affine.columnK == SIMD3(0, 0, 3))
        #expect(read.geometry.affine.translation == SIMD3(-10, -20, 0))
        #expect(read.masks.count == 2)
        let empty = [UInt16](repeating: 0, count: 30)
        let first: [UInt16] = b.map { UInt16($0) } + empty + c.map { UInt16($0) }
        let second: [UInt16] = empty + empty.prefix(15) + a.map { UInt16(2 * $0) }
        #expect(values(read.masks[0]) == first)
        #expect(values(read.masks[1]) == second)
        #expect(read.segments.map(\.volume) == [0, 1])
        let counts = [first.count { $0 > 0 }, second.count { $0 > 0 }]
        #expect(read.segments.map(\.voxelCount) == counts)
        #expect(read.segments.map(\.label) == ["segment 0", "segment 1"])
        // Without a stated spacing the smallest distance is the step.
        object.stated = nil
        #expect(try self.read(object.file).geometry.shape.z == 2)
    }

    @Test("fractions count from half of the largest value on", arguments: [255, 100, 7, 1])
    func fractional(maximum: Int) throws {
        var object = TestSegmentation(kind: "FRACTIONAL", bits: 8, segments: 1, maximum: maximum)
        let values = (0..<15).map { $0 * maximum / 14 }
        object.frames = [(1, 4, values), (1, 2, values.reversed())]
        let read = try read(object.file)
        let expected = values.map { 2 * $0 >= maximum ? UInt16(1) : 0 }
        #expect(self.values(read.masks[0]) == expected.reversed() + expected)
        #expect(read.notes.count == 1)
    }

    @Test("label maps of 8 and 16 bits, padding taken for background", arguments: [8, 16])
    func labelMap(bits: Int) throws {
        var object = TestSegmentation(kind: "LABELMAP", bits: bits, segments: 9)
        let (a, b) = (random(5, below: 9), random(6, below: 9))
        object.frames = [(nil, 1, a), (nil, -1, b)]
        object.padding = 8
        let read = try read(object.file)
        #expect(values(read.masks[0]) == (b + a).map { $0 == 8 ? 0 : UInt16($0) })
        #expect(read.segments[3].voxelCount == (a + b).count { $0 == 3 })
        object.segments = 5
        #expect(throws: DICOMReadError.self) { try self.read(object.file) }
    }

    @Test("run lengths, frame by frame")
    func runLengths() throws {
        var object = TestSegmentation(kind: "FRACTIONAL", bits: 8, segments: 1, maximum: 255)
        let (a, b) = (random(7, below: 2), random(8, below: 2))
        object.frames = [(1, 1, a), (1, 2, b)]
        let fragments = [a, b].map { frame in
            littleEndian(UInt32(1)) + littleEndian(UInt32(64)) + [UInt8](repeating: 0, count: 56) + [14]
                + frame.map { UInt8($0 * 255) }
        }
        let read = try read(object.set.file(syntax: "1.2.840.10008.1.2.5", fragments: fragments))
        #expect(values(read.masks[0]) == (a + b).map { UInt16($0) })
    }

    @Test("a stack of one slice takes what is stated, and says so")
    func single() throws {
        var object = TestSegmentation(segments: 1)
        object.frames = [(1, 1, random(1, below: 2))]
        #expect(throws: DICOMReadError.self) { try self.read(object.file) }
        object.stated = 2.5
        let read = try read(object.file)
        #expect(read.geometry.affine.columnK == SIMD3(0, 0, 2.5))
        #expect(read.notes.map(\.code) == ["segmentation.singleSlice"])
    }

    @Test("frames of one plane stay on it, however small a step is stated", arguments: [0.003, 1e-30])
    func tinyStep(stated: Double) throws {
        var object = TestSegmentation()
        object.frames = [(1, 0, random(1, below: 2)), (2, 0.004, random(2, below: 2))]
        object.stated = stated
        let read = try read(object.file)
        #expect(read.geometry.shape.z == 1 && read.notes.map(\.code).contains("segmentation.singleSlice"))
    }

    static let hostile: [(name: String, change: @Sendable (inout DICOMDataSet) -> Void)] = [
        ("no kind", { $0.remove(0x0062_0001) }),
        ("no frames", { $0.text(0x0028_0008, "IS", "0") }),
        ("two thousand million frames", { $0.text(0x0028_0008, "IS", "2147483647") }),
        ("a frame too many", { $0.text(0x0028_0008, "IS", "4") }),
        ("huge rows", { $0.short(0x0028_0010, 65535) }),
        ("no rows", { $0.remove(0x0028_0010) }),
        ("sixteen bits", { $0.short(0x0028_0100, 16) }),
        ("three samples", { $0.short(0x0028_0002, 3) }),
        ("no pixels", { $0.remove(0x7FE0_0010) }),
        ("few pixels", { $0.bytes(0x7FE0_0010, "OB", [1, 2]) }),
        ("no measures", { $0.remove(0x5200_9229) }),
        ("no frame groups", { $0.remove(0x5200_9230) }),
        ("no segments", { $0.remove(0x0062_0002) }),
    ]

    @Test("what does not fit together is an error that names the file", arguments: hostile.indices)
    func refused(index: Int) throws {
        var object = TestSegmentation()
        object.frames = [(2, 9, random(1, below: 2)), (1, 0, random(2, below: 2)), (1, 9, random(3, below: 2))]
        object.change = Self.hostile[index].change
        let error = #expect(throws: DICOMReadError.self) { try self.read(object.file) }
        #expect(error?.path.hasSuffix("seg.dcm") == true)
        #expect(error?.detail.isEmpty == false)
    }

    @Test("limits hold, uneven frames are refused, changed bytes get an answer")
    func limits() throws {
        var object = TestSegmentation()
        object.frames = [(2, 9, random(1, below: 2)), (1, 0, random(2, below: 2)), (1, 9, random(3, below: 2))]
        for limits in [
            DICOMObjectLimits(frames: 2), DICOMObjectLimits(segments: 1), DICOMObjectLimits(voxels: 10),
            DICOMObjectLimits(volumes: 1),
        ] {
            let error = #expect(throws: DICOMReadError.self) { try self.read(object.file, limits: limits) }
            #expect(error?.code == .overLimit)
        }
        var uneven = object
        uneven.frames = [(1, 0, random(1, below: 2)), (1, 2, random(1, below: 2)), (1, 4.7, random(1, below: 2))]
        #expect(#expect(throws: DICOMReadError.self) { try self.read(uneven.file) }?.code == .spacingNotUniform)
        let bytes = object.file
        var random = SplitMix64(seed: 21)
        for _ in 0..<500 {
            var broken = bytes
            for _ in 0..<2 { broken[132 + Int(random.next() % UInt64(bytes.count - 132))] = UInt8(random.next() & 255) }
            _ = try? read(broken)
        }
    }

    @Test("segmentations of slides are called what they are", arguments: [true, false])
    func slide(isTiled: Bool) throws {
        var object = TestSegmentation()
        object.frames = [(1, 0, random(1, below: 2))]
        object.change = { set in
            if isTiled {
                set.text(0x0020_9311, "CS", "TILED_FULL")
            } else {
                set.bytes(0x0048_0006, "UL", [0, 16, 0, 0])
            }
        }
        let error = #expect(throws: DICOMReadError.self) { try self.read(object.file) }
        #expect(error?.code == .otherObject && error?.detail.contains("microscopic slide") == true)
    }
}
